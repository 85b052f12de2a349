import pytest
from hypothesis import given
from hypothesis import strategies as st

from cockpit.domain.evidence import WrittenFile
from cockpit.domain.outcomes import Outcome, Status
from cockpit.guards import bytes as bytes_guard
from cockpit.guards.foreign_bytes import byte_faults
from tests.evidencekit import LIMITS, NEW, OLD, change, new_file, patch


def judge(before: bytes | None, after: bytes, harvested: bytes | None = None) -> Outcome:
    new = after if harvested is None else harvested
    changed = new_file("a.py", new) if before is None else change("a.py", old=before, new=new)
    evidence = patch(changes=(changed,), written=(WrittenFile("a.py", before, after, whole_file=False),))
    return bytes_guard.check(evidence, LIMITS)


@pytest.mark.parametrize(
    ("before", "after", "word"),
    [
        (b"a\r\nb\r\n", b"a\nc\n", "line ends went from CRLF to LF"),
        (b"a\r\nb\r\n", b"a\r\nc\n", "line ends went from CRLF to CRLF and LF"),
        (b"a\nb\n", b"a\nc\r\n", "line ends went from LF to CRLF and LF"),
        (b"a\r\nb\nc\n", b"a\nb\nd\n", "line ends of lines"),
        (b"\xef\xbb\xbfa\n", b"b\n", "byte order mark removed"),
        (b"a\n", b"\xef\xbb\xbfb\n", "byte order mark added"),
        (b"a\nb\n", b"a\nc", "newline at the end of the file removed"),
        (b"a\nb", b"c\nb\n", "newline at the end of the file added"),
        (b"all:\n\tcc a.c\n", b"all:\n    cc a.c\nx:\n", "tabs of lines that were not edited became spaces"),
        (b"if x:\n    y\n", b"if z:\n\ty\n", "spaces became tabs"),
    ],
)
def test_bytes_nobody_asked_to_change_block(before: bytes, after: bytes, word: str) -> None:
    outcome = judge(before, after)
    assert (outcome.status, outcome.label) == (Status.BLOCK, "foreign_bytes")
    assert word in outcome.reason


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"a\r\nb\r\n", b"a\r\nc\r\n"),
        (b"a\r\nb\nc\n", b"a\r\nb\nd\n"),
        (b"\xef\xbb\xbfa\n", b"\xef\xbb\xbfb\n"),
        (b"a\nb", b"a\nb\nc\n"),
        (b"a\nb", b"a\nc"),
        (b"a", b"b"),
        (None, b"x"),
        (b"", b"a\r\n"),
        (b"x:\n\ty\n", b"x:\n\ty\n\tz\n"),
        (b"f()\n", b"if x:\n\tf()\n\tf()\n"),
        (b"a\n", b""),
    ],
)
def test_an_edit_that_keeps_the_rest_passes(before: bytes | None, after: bytes) -> None:
    assert judge(before, after).status is Status.PASS


def test_other_bytes_in_the_patch_than_the_edit_wrote_block() -> None:
    assert "other bytes" in judge(OLD, NEW, NEW + b"# formatted on save\n").reason


def test_line_ends_that_git_normalises_on_its_own_are_no_foreign_bytes() -> None:
    before, after = b"a\r\nb\r\n", b"a\r\nc\r\n"
    changed = change("a.py", old=b"a\nb\n", new=b"a\nc\n")
    evidence = patch(changes=(changed,), written=(WrittenFile("a.py", before, after, whole_file=True),))
    assert bytes_guard.check(evidence, LIMITS).status is Status.PASS


def test_a_mode_that_changes_along_with_an_edit_blocks() -> None:
    outcome = bytes_guard.check(patch(changes=(change(new_mode="100755"),)), LIMITS)
    assert outcome.reason == "shop/tax.py: mode went from 100644 to 100755"


def test_a_written_file_that_the_patch_lacks_or_deletes_blocks() -> None:
    fresh = (WrittenFile("new.py", None, b"x\n", whole_file=True),)
    assert bytes_guard.check(patch(written=fresh), LIMITS).status is Status.BLOCK
    assert bytes_guard.check(patch(changes=(change(is_deleted=True, new=None),)), LIMITS).status is Status.BLOCK


def test_an_edit_that_takes_an_earlier_one_back_passes() -> None:
    assert bytes_guard.check(patch(changes=(change("other.py"),)), LIMITS).status is Status.PASS


def test_an_ignored_path_is_left_to_the_path_guard() -> None:
    written = (WrittenFile("build/x.py", None, b"x\n", whole_file=True),)
    assert bytes_guard.check(patch(written=written, ignored=("build/x.py",)), LIMITS).status is Status.PASS


def test_without_a_harvest_the_bytes_are_unknown() -> None:
    assert bytes_guard.check(patch(changes=None), LIMITS).status is Status.UNKNOWN


@given(st.binary(max_size=80))
def test_a_file_never_has_faults_against_itself(data: bytes) -> None:
    assert list(byte_faults(data, data)) == []


lines = st.lists(st.text(alphabet="ab \t", max_size=4), min_size=1, max_size=6)


@given(lines, st.sampled_from(["\n", "\r\n"]))
def test_every_change_of_the_line_ends_of_a_whole_file_is_seen(texts: list[str], end: str) -> None:
    other = "\n" if end == "\r\n" else "\r\n"
    before = "".join(text + end for text in texts).encode()
    after = "".join(text + other for text in texts).encode()
    assert any("line ends" in fault for fault in byte_faults(before, after))
