"""Reads one JSON action from an answer: the first complete object, and never a second one."""

import json
import re
from typing import Any, NoReturn

from cockpit.edits.model import AnswerError
from cockpit.edits.thoughts import without_thoughts

_OBJECT = re.compile(r"\{\s*\"")


def first_json_object(text: str) -> dict[str, Any]:
    """Decode the first JSON object of an answer; what follows it is prose, whatever it looks like.

    Raises AnswerError when there is none, when it is cut or malformed, repeats a key or holds half characters. An
    object inside a broken one is never taken for the action.
    """
    content = without_thoughts(text)
    found = _OBJECT.search(content)
    if not found:
        raise AnswerError("the answer holds no JSON object")
    decoder = json.JSONDecoder(object_pairs_hook=_unique, parse_constant=_no_constant)
    try:
        action, _ = decoder.raw_decode(content, found.start())
        json.dumps(action, ensure_ascii=False).encode()
    except json.JSONDecodeError as error:
        raise AnswerError(f"line {error.lineno}: the JSON object breaks off: {error.msg}") from error
    except (ValueError, RecursionError) as error:
        raise AnswerError(f"the JSON object cannot be taken: {error}") from error
    return dict(action)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    decoded = dict(pairs)
    if len(decoded) != len(pairs):
        raise ValueError("a key occurs twice")
    return decoded


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")
