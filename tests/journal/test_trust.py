from pathlib import Path

import pytest

from cockpit.journal.layout import Home
from cockpit.journal.trust import remember_trust, trusts


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


def test_nothing_is_trusted_at_first(home: Home) -> None:
    assert not trusts(home, "/r")


def test_a_consent_holds_for_that_repository_and_is_remembered(home: Home) -> None:
    remember_trust(home, "/r", 1.0)
    remember_trust(home, "https://example.org/ü.git", 2.0)
    assert trusts(home, "/r")
    assert trusts(home, "https://example.org/ü.git")
    assert not trusts(home, "/r/")
    assert not trusts(home, "/")


@pytest.mark.parametrize("text", ["", "{", "[]", '{"repositories": ["/r"]}', '{"repositories": "/r"}'])
def test_a_file_that_cannot_be_read_grants_nothing(home: Home, text: str) -> None:
    home.trust_file.write_text(text)
    assert not trusts(home, "/r")
    remember_trust(home, "/s", 1.0)
    assert trusts(home, "/s")
    assert not trusts(home, "/r")
