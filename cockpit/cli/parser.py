"""Describes every verb of the command line; what a verb does lies in the module its ``target`` names."""

import argparse
from collections.abc import Sequence
from typing import Any, NoReturn

from cockpit import __version__
from cockpit.domain.errors import UsageError
from cockpit.domain.states import State

EPILOG = """\
REPO is the path of a git repository, or a git URL. TASK is a task's id, or its first characters.
Exit codes: 0 done, 1 it did not work out, 2 the call is wrong and nothing was changed.
Every verb takes --json. Start with:  cockpit doctor  and  cockpit demo --headless
"""


class Parser(argparse.ArgumentParser):
    """Raises ``UsageError`` instead of printing, so that wrong calls end like every other error."""

    def error(self, message: str) -> NoReturn:
        """Raise with argparse's message and where to read on."""
        raise UsageError(message, hint=f"see {self.prog} --help")


def build_parser() -> Parser:
    """Return the parser of all verbs; each sets ``target``, a ``module:function`` below ``cockpit.cli``."""
    common = _common()
    parser = Parser(
        prog="cockpit",
        description="Lets a local model fix issues in real repositories, proves it, and leaves the decision to you.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        parents=[common],
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"cockpit {__version__}")
    verbs = _Verbs(parser.add_subparsers(dest="verb", metavar="VERB", title="verbs", required=True), common)
    _add_asking(verbs)
    _add_looking(verbs)
    _add_deciding(verbs)
    _add_background(verbs)
    _add_tools(verbs)
    return parser


class _Verbs:
    """Adds verbs that all know the common flags."""

    def __init__(self, actions: Any, common: argparse.ArgumentParser) -> None:  # noqa: ANN401  # argparse's is private
        self._actions = actions
        self._common = common

    def add(self, name: str, target: str, text: str) -> argparse.ArgumentParser:
        """Add one verb; its help text is one sentence without a full stop."""
        made: argparse.ArgumentParser = self._actions.add_parser(
            name, help=text, description=f"{text[0].upper()}{text[1:]}.", parents=[self._common], allow_abbrev=False
        )
        made.set_defaults(target=target)
        return made

    def group(self, name: str, text: str) -> "_Verbs":
        """Add a verb that has verbs of its own, such as ``engine start``."""
        made = self._actions.add_parser(
            name, help=text, description=f"{text[0].upper()}{text[1:]}.", parents=[self._common], allow_abbrev=False
        )
        return _Verbs(
            made.add_subparsers(dest="action", metavar="ACTION", title="actions", required=True), self._common
        )


def _common() -> argparse.ArgumentParser:
    """Return the flags of every verb; absent ones stay unset, so that neither place of a flag hides the other."""
    common = argparse.ArgumentParser(add_help=False, argument_default=argparse.SUPPRESS)
    flags = common.add_argument_group("everywhere")
    flags.add_argument("--json", action="store_true", help="print one JSON value instead of text, errors included")
    flags.add_argument("--home", metavar="DIR", help="folder of all tasks (default: $COCKPIT_HOME)")
    flags.add_argument("--server-url", metavar="URL", help="address of your llama.cpp server (default: server.url)")
    flags.add_argument("--debug", action="store_true", help="show the traceback of an unexpected error")
    return common


def _add_asking(verbs: _Verbs) -> None:
    add = verbs.add("add", "asking:add", "add a task and return at once")
    _ask_flags(add)
    run = verbs.add("run", "asking:run", "add a task, wait for it and print its receipt")
    _ask_flags(run)
    run.add_argument("--quiet", action="store_true", help="no progress lines, only the receipt")


def _ask_flags(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("repo", metavar="REPO", help="path of a git repository, or a git URL")
    issue = parser.add_mutually_exclusive_group(required=True)
    issue.add_argument("--issue-file", metavar="FILE", help="read the issue text from a file")
    issue.add_argument("--text", metavar="TEXT", help="the issue text itself")
    # A flag, not a positional: argparse would take it directly behind REPO only.
    issue.add_argument("-", dest="stdin", action="store_true", help="read the issue text from standard input")
    parser.add_argument("--title", default="", metavar="LINE", help="one line (default: the first line of the issue)")
    parser.add_argument("--test", default="", metavar="CMD", help="test command, or none (default: found there)")
    parser.add_argument("--setup", default="", metavar="CMD", help="command that installs what the tests need")
    parser.add_argument("--base", default="", metavar="REF", help="commit, branch or tag to start from (default: HEAD)")
    parser.add_argument(
        "--expect", action="append", default=[], metavar="TESTID", help="a test that must pass in the end; repeatable"
    )
    parser.add_argument(
        "--model", default="", metavar="M", help="model to ask for on a router, or replay:DIR for a recorded task"
    )
    parser.add_argument(
        "--trust", action="store_true", help="consent to run this repository's commands; a URL needs it"
    )
    budget = parser.add_argument_group("budget")
    budget.add_argument("--budget-rounds", type=_whole, metavar="N", help="rounds per attempt")
    budget.add_argument("--budget-attempts", type=_whole, metavar="N", help="attempts")
    budget.add_argument(
        "--budget-minutes", type=_positive, metavar="MIN", help="minutes of work; waiting does not count"
    )
    budget.add_argument("--budget-tokens", type=_whole, metavar="N", help="generated tokens in all")


def _add_looking(verbs: _Verbs) -> None:
    tasks = verbs.add("tasks", "tasks:list_tasks", "list the tasks, those that wait for you first")
    tasks.add_argument("--state", choices=[state.value for state in State], help="only tasks in this state")
    show = verbs.add("show", "show:show", "show where a task stands, with its receipt")
    _task(show)
    what = show.add_mutually_exclusive_group()
    for name, text in (
        ("diff", "the patch of the last round"),
        ("journal", "every fact in order"),
        ("stream", "what the model wrote in its last call"),
        ("receipt", "only the receipt"),
    ):
        what.add_argument(f"--{name}", dest="what", action="store_const", const=name, help=text)
    _task(verbs.add("follow", "show:follow", "print what the model writes while it writes it"))


def _add_deciding(verbs: _Verbs) -> None:
    for verb, text in (
        ("pause", "stop a task at this token; it keeps its place"),
        ("resume", "go on with a paused or waiting task"),
    ):
        made = verbs.add(verb, f"decide:{verb}", text)
        made.add_argument("task", metavar="TASK", nargs="?", help="a task's id, or its first characters")
        made.add_argument("--all", action="store_true", dest="every", help="every task")
    steer = verbs.add("steer", "decide:steer", "tell the model something at the start of its next round")
    _task(steer)
    steer.add_argument("text", metavar="TEXT", help="what to tell it")
    for verb, text in (
        ("kill", "end a task; the best patch so far is kept"),
        ("approve", "commit the patch in review on the branch cockpit/TASK of your repository"),
        ("discard", "put the patch aside; undo brings it back"),
        ("undo", "take the last decision back"),
    ):
        _task(verbs.add(verb, f"decide:{verb}", text))


def _add_background(verbs: _Verbs) -> None:
    engine = verbs.group("engine", "the background process that does the work")
    engine.add("start", "engine:start", "start the engine when none runs")
    engine.add("stop", "engine:stop", "stop the engine; running tasks go on at the next start")
    engine.add("status", "engine:status", "tell whether an engine runs")
    engine.add("run", "engine:run", "run the engine here, in the foreground")
    server = verbs.group("server", "the model server that comes with the extras local and demo-model")
    server.add("start", "server:start", "start it in the background, assembling the demo model first where needed")
    server.add("stop", "server:stop", "stop it")
    server.add("status", "server:status", "tell whether it runs, where and with which model")
    server.add("run", "server:run", "run it here, in the foreground")


def _add_tools(verbs: _Verbs) -> None:
    verbs.add("doctor", "doctor:doctor", "check what a task needs here, and say what to do about the rest")
    demo = verbs.add("demo", "demo:demo", "let the demo model fix three bugs in a small repository made for it")
    demo.add_argument("--headless", action="store_true", help="without screens: progress lines, then receipts")
    demo.add_argument(
        "--keep-going", action="store_true", help="leave the server and the engine running when the demo is over"
    )
    answer = verbs.add("try-answer", "tryanswer:try_answer", "tell what the engine would do with a model's answer")
    answer.add_argument("repo", metavar="REPO", help="path of a git repository; it is not touched")
    answer.add_argument("--answer", required=True, metavar="FILE", help="the answer as the model wrote it, or -")
    answer.add_argument(
        "--format", choices=["search_replace", "whole_file", "auto"], default="auto", help="how to read it"
    )
    answer.add_argument(
        "--in-play", action="append", default=[], metavar="PATH", help="a file the model was shown; repeatable"
    )
    answer.add_argument("--base", default="", metavar="REF", help="commit, branch or tag (default: HEAD)")


def _task(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("task", metavar="TASK", help="a task's id, or its first characters")


def _whole(text: str) -> int:
    return int(_checked(text, int(text) if text.isdecimal() else 0))


def _positive(text: str) -> float:
    try:
        return _checked(text, float(text))
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number above 0") from error


def _checked(text: str, number: float) -> float:
    if not 0 < number < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number above 0")
    return number


def parse(argv: Sequence[str]) -> argparse.Namespace:
    """Parse a call; every common flag is present in the result. Raises ``UsageError``."""
    wanted = argparse.Namespace(json=False, home=None, server_url="", debug=False)
    return build_parser().parse_args(_joined(argv), wanted)


def _joined(argv: Sequence[str]) -> list[str]:
    """Join ``--issue-file -`` into one word: a dash alone is a flag of its own."""
    words: list[str] = []
    for word in argv:
        if word == "-" and words and words[-1] in {"--issue-file", "--text"}:
            words[-1] += "=-"
        else:
            words.append(word)
    return words
