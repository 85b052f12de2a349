"""One answer is one action, and a broken one is none."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cockpit.edits.action import first_json_object
from cockpit.edits.model import AnswerError

ACTION = '{"action": "locate", "query": "x"}'


@pytest.mark.parametrize(
    "text",
    [
        ACTION,
        f"```json\n{ACTION}\n```",
        f"Using {{best}} and {{}}: {ACTION} then {{'a': 1}}",
        f"{ACTION}{ACTION.replace('locate', 'patch')}",
        f'<think>{{"action": "patch"}}</think>{ACTION}',
        f"\ufeff\n [{ACTION}]",
        '{\n  "action": "locate",\n  "query": "x"\n}',
    ],
)
def test_the_first_object_is_taken(text: str) -> None:
    assert first_json_object(text) == {"action": "locate", "query": "x"}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("no action", "no JSON object"),
        ("", "no JSON object"),
        ("{}", "no JSON object"),
        ('<think>{"action": "patch"}', "no JSON object"),
        ('{"action": "patch", "inner": {"action": "locate"}', "breaks off"),
        ('{"action": "patch", "inner": {"action": "locate"},, }', "breaks off"),
        ('{"action": "a", "action": "b"}', "a key occurs twice"),
        ('{"n": NaN}', "NaN is no JSON"),
        ('{"n": -Infinity}', "Infinity is no JSON"),
        ('{"s": "\\ud800"}', "cannot be taken"),
        ('{"a":' * 100_000, "cannot be taken"),
    ],
)
def test_a_broken_object_is_refused_and_nothing_inside_it_runs(text: str, told: str) -> None:
    with pytest.raises(AnswerError) as error:
        first_json_object(text)
    assert told in error.value.message
    assert error.value.label == "format_invalid"


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(st.dictionaries(st.text(), VALUES, min_size=1), st.text(st.characters(codec="utf-8", exclude_characters="{<")))
def test_what_follows_an_object_never_matters(action: dict[str, object], prose: str) -> None:
    assert first_json_object(json.dumps(action) + prose + '{"action": "patch"}') == action
