import pytest

from cockpit.domain.evidence import ChangeKind, FileChange
from cockpit.domain.outcomes import Outcome, Status
from cockpit.guards import scope
from tests.evidencekit import LIMITS, change, new_file, patch


def judge(*changes: FileChange, issue: str = "") -> Outcome:
    return scope.check(patch(changes=changes, issue_text=issue), LIMITS)


TAMPERED = [
    new_file("conftest.py"),
    change("tests/conftest.py"),
    change("conftest.py", is_deleted=True, new=None),
    change("conftest.py", old_path="helpers.py"),
    change("helpers.py", old_path="conftest.py", kind=ChangeKind.RENAME),
    new_file("pytest.ini", b""),
    new_file("src/sitecustomize.py"),
    new_file("usercustomize.py"),
    new_file("quiet.pth"),
    new_file("pytest.py"),
    new_file("_pytest/__init__.py"),
    new_file("unittest/__init__.py"),
    new_file("jest.config.js"),
    change("pyproject.toml", old=b"[tool.x]\n", new=b"[tool.x]\n[tool.pytest.ini_options]\naddopts='-k a'\n"),
    change("setup.cfg", old=b"[tool:pytest]\naddopts=\n", new=b"[tool:pytest]\naddopts=--deselect t.py\n"),
    new_file("tox.ini", b"[pytest]\naddopts = -k nothing\n"),
    change("package.json", old=b'{"scripts": {\n"test": "jest"\n}}', new=b'{"scripts": {\n"test": "true"\n}}'),
    change("pyproject.toml", old=None, new=None),
    change("tests/test_tax.py"),
    change("tests/test_tax.py", is_deleted=True, new=None),
    change("tests/data/rates.json"),
    change("shop/old_checks.py", old_path="tests/test_tax.py", kind=ChangeKind.RENAME),
    change("pkg/thing_test.go"),
]


@pytest.mark.parametrize("changed", TAMPERED, ids=lambda c: f"{c.path}-{c.is_new}-{c.is_deleted}-{c.old_path}")
def test_what_judges_the_patch_is_never_changed_even_when_the_issue_names_it(changed: FileChange) -> None:
    issue = f"please change {changed.path} and {changed.old_path}"
    for outcome in (judge(changed), judge(changed, issue=issue)):
        assert (outcome.status, outcome.label) == (Status.BLOCK, "tampered")
        assert changed.path in outcome.figure


SPECIAL = [
    change("poetry.lock"),
    change("web/package-lock.json"),
    change(".github/workflows/ci.yml"),
    change("Makefile"),
    change("setup.cfg", old=b"[metadata]\nname=a\n", new=b"[metadata]\nname=b\n"),
    change("vendor/lib/x.c"),
    change("node_modules/a/index.js"),
    change(".env"),
    change("shop/.hidden/x.py"),
    change("static/app.min.js"),
    change("api/user_pb2.py"),
    change("lib", kind=ChangeKind.SUBMODULE, old_mode="160000", new_mode="160000"),
    new_file("link", kind=ChangeKind.SYMLINK, new_mode="120000"),
    change("shop/tax.py", kind=ChangeKind.SYMLINK, new_mode="120000"),
    change("run.sh", kind=ChangeKind.MODE, new_mode="100755"),
    change("shop/tax.py", new_mode="100755"),
]


@pytest.mark.parametrize("changed", SPECIAL, ids=lambda c: f"{c.path}-{c.kind}")
def test_special_files_block_unless_the_issue_names_them(changed: FileChange) -> None:
    outcome = judge(changed, issue="prices are wrong")
    assert (outcome.status, outcome.label) == (Status.BLOCK, "scope")
    assert changed.path in outcome.reason
    assert judge(changed, issue=f"The bug is in `{changed.path}`.").status is not Status.BLOCK


@pytest.mark.parametrize("issue", ["edit other/Makefile", "the Makefile.bak file", "MyMakefile", "Makefiles are nice"])
def test_a_name_inside_another_name_does_not_name_a_file(issue: str) -> None:
    assert judge(change("Makefile"), issue=issue).status is Status.BLOCK


@pytest.mark.parametrize("issue", ["edit Makefile.", "(Makefile)", "'Makefile' is wrong"])
def test_a_name_between_punctuation_names_the_file(issue: str) -> None:
    assert judge(change("Makefile"), issue=issue).status is Status.PASS


def test_three_files_pass_and_four_block() -> None:
    files = [change(f"shop/{name}.py") for name in "abcd"]
    assert judge(*files[:3]).status is Status.PASS
    outcome = judge(*files)
    assert (outcome.status, outcome.label) == (Status.BLOCK, "scope")


def test_a_new_file_and_a_new_test_only_warn() -> None:
    assert judge(new_file("shop/rates.py")).status is Status.WARN
    assert judge(change(), new_file("tests/test_rates.py")).status is Status.WARN


def test_a_new_test_does_not_count_as_a_touched_file() -> None:
    assert judge(change("a.py"), change("b.py"), change("c.py"), new_file("tests/test_n.py")).status is Status.WARN


def test_tampering_is_named_before_anything_else() -> None:
    assert judge(change("poetry.lock"), new_file("conftest.py")).label == "tampered"


def test_the_project_of_a_test_library_may_change_its_own_code() -> None:
    assert judge(change("src/_pytest/config.py")).status is Status.PASS


def test_without_a_harvest_the_scope_is_unknown() -> None:
    assert scope.check(patch(changes=None), LIMITS).status is Status.UNKNOWN
