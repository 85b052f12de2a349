"""What the README says of commands, verbs and settings is what the program does."""

import argparse
import re
import shlex
from collections.abc import Iterator

import pytest

from cockpit.cli.parser import build_parser, parse
from cockpit.domain.receipt import GRADE_WORDS
from cockpit.settings import Settings
from tests.packaging.readme import ROOT, TEXT, code_spans, fenced, rows


def test_the_settings_table_is_the_schema() -> None:
    assert rows("settings") == [list(row) for row in schema_rows()]


@pytest.mark.parametrize("name", ["demo", "tests", "remove"])
def test_a_command_to_copy_is_one_line(name: str) -> None:
    command = fenced(name)
    assert "\n" not in command
    assert shlex.split(command)


def test_the_two_commands_start_from_nothing() -> None:
    start = "python3 -m venv .venv && .venv/bin/pip install -e "
    assert fenced("demo").startswith(start)
    assert fenced("tests").startswith(start)
    argv = shlex.split(fenced("demo"))
    assert parse(argv[argv.index(".venv/bin/cockpit") + 1 :]).headless


def test_ci_runs_the_tests_command_of_the_readme() -> None:
    assert "/<!-- tests -->/,/<!-- end -->/p' README.md" in (ROOT / ".ci" / "run").read_text("utf-8")


def test_the_verbs_table_is_the_parser() -> None:
    assert sorted(table_verbs()) == sorted(all_verbs())


def test_every_call_of_cockpit_in_the_readme_names_a_verb() -> None:
    calls = re.findall(r"(?:^|[`/ ])cockpit ([a-z][a-z-]*)(?= |`|$)", code(), re.MULTILINE)
    assert calls
    assert not set(calls) - {verb.split()[0] for verb in all_verbs()}


def test_every_flag_of_a_verb_is_in_the_readme_and_every_flag_there_is_known() -> None:
    start, end = TEXT.index("## The command line"), TEXT.index("### How a patch is graded")
    named = set(re.findall(r"--[a-z][a-z-]*", " ".join(code_spans(TEXT[start:end]))))
    assert named - {"--help"} == set(all_flags()) - {"--help", "--version"}


def test_every_grade_that_this_version_gives_is_explained() -> None:
    start, end = TEXT.index("### How a patch is graded"), TEXT.index("## Strangers' repositories")
    named = {span for span in code_spans(TEXT[start:end]) if span in GRADE_WORDS}
    assert named == GRADE_WORDS.keys() - {"verified"}


def schema_rows() -> Iterator[tuple[str, str, str]]:
    for table, section in Settings():
        for key, field in type(section).model_fields.items():
            default = str(field.default).lower() if isinstance(field.default, bool) else str(field.default)
            yield f"`{table}.{key}`", f"`{default or chr(34) * 2}`", str(field.description)


def table_verbs() -> Iterator[str]:
    """Yield ``add``, ``engine start`` and so on: the lower-case words a code span of the first column starts with."""
    for first, _ in rows("verbs"):
        for span in code_spans(first):
            found = re.match(r"[a-z-]+(?: [a-z]+)?(?= |$)", span)
            assert found, span
            yield found[0]


def subparsers(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            return dict(action.choices)
    return {}


def all_verbs() -> Iterator[str]:
    for verb, parser in subparsers(build_parser()).items():
        inner = subparsers(parser)
        yield from (f"{verb} {action}" for action in inner)
        if not inner:
            yield verb


def all_flags() -> Iterator[str]:
    parsers: list[argparse.ArgumentParser] = [build_parser()]
    while parsers:
        parser = parsers.pop()
        parsers += subparsers(parser).values()
        yield from (text for action in parser._actions for text in action.option_strings if text.startswith("--"))


def code() -> str:
    """Return the README's code, blocks and spans, a piece a line."""
    blocks = re.findall(r"^```\w*\n(.*?)^```", TEXT, re.DOTALL | re.MULTILINE)
    return "\n".join([*blocks, *code_spans(TEXT)])
