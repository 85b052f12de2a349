"""Puts tool calls together from the fragments a chat stream sends them in."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One call, whole."""

    id: str
    name: str
    arguments: str
    """As the model wrote them; JSON when it wrote JSON."""

    def line(self) -> str:
        """Return the call as one line of JSON; arguments that are no JSON stay a string."""
        try:
            arguments = json.loads(self.arguments or "{}")
        except ValueError:
            arguments = self.arguments
        return json.dumps({"id": self.id, "name": self.name, "arguments": arguments}, ensure_ascii=False) + "\n"


@dataclass(slots=True)
class _Draft:
    id: str = ""
    name: str = ""
    arguments: str = ""


class ToolCalls:
    """Collects fragments by their index; the id often comes with the first fragment only."""

    def __init__(self) -> None:
        self._drafts: dict[int, _Draft] = {}

    def add(self, fragment: Mapping[str, Any]) -> None:
        """Take one fragment of one call."""
        draft = self._drafts.setdefault(self._index(fragment), _Draft())
        draft.id = draft.id or str(fragment.get("id") or "")
        function = fragment.get("function") or {}
        draft.name = _joined_name(draft.name, str(function.get("name") or ""))
        arguments = function.get("arguments") or ""
        draft.arguments += arguments if isinstance(arguments, str) else json.dumps(arguments)

    def done(self) -> tuple[ToolCall, ...]:
        """Return the calls in the order of their index."""
        return tuple(ToolCall(draft.id, draft.name, draft.arguments) for _, draft in sorted(self._drafts.items()))

    def _index(self, fragment: Mapping[str, Any]) -> int:
        """Return the fragment's place; servers that leave it out name the id, or go on with the last call."""
        if isinstance(fragment.get("index"), int):
            return int(fragment["index"])
        name = fragment.get("id")
        last = max(self._drafts, default=0)
        if not name:
            return last
        known = [index for index, draft in self._drafts.items() if draft.id == name]
        return known[0] if known else last + 1 if self._drafts else 0


def _joined_name(known: str, fragment: str) -> str:
    """Join a name that may come whole, again, growing, or in parts."""
    if not fragment or fragment == known:
        return known
    return fragment if fragment.startswith(known) else known + fragment
