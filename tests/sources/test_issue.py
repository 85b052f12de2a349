from pathlib import Path

import pytest

from cockpit.domain.errors import NotFoundError, UsageError
from cockpit.sources.issue import MAX_BYTES, issue_from_bytes, issue_from_file, issue_from_text


def test_an_issue_is_kept_as_it_was_written(tmp_path: Path) -> None:
    text = "Title\r\n\n  ünd \u2028 more\t\n"
    (tmp_path / "issue.md").write_bytes(text.encode())
    assert issue_from_file(tmp_path / "issue.md") == text
    assert issue_from_text(text) == text
    assert issue_from_bytes(b"\xef\xbb\xbfTitle\n", "stdin") == "Title\n"


@pytest.mark.parametrize("content", [b"", b" \n\t\r\n", b"\xef\xbb\xbf"])
def test_an_empty_issue_is_refused(content: bytes) -> None:
    with pytest.raises(UsageError, match="stdin is empty"):
        issue_from_bytes(content, "stdin")


def test_bytes_that_are_no_text_are_placed() -> None:
    with pytest.raises(UsageError, match=r"stdin is not valid UTF-8 \(line 2, byte 4\)"):
        issue_from_bytes(b"ok\n\xff\n", "stdin")
    with pytest.raises(UsageError, match="character 3"):
        issue_from_text("ab\udcff")


def test_the_longest_issue_is_accepted_and_one_byte_more_is_not(tmp_path: Path) -> None:
    (tmp_path / "issue").write_bytes(b"x" * MAX_BYTES)
    assert len(issue_from_file(tmp_path / "issue")) == MAX_BYTES
    (tmp_path / "issue").write_bytes(b"x" * (MAX_BYTES + 1))
    with pytest.raises(UsageError, match="longer than 200 kB"):
        issue_from_file(tmp_path / "issue")


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match="absent does not exist"):
        issue_from_file(tmp_path / "absent")
    with pytest.raises(UsageError, match="cannot read"):
        issue_from_file(tmp_path)
