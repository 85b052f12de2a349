"""Turns records, commands, stream lines and states into JSON and back, exactly."""

import dataclasses
import json
from collections.abc import Mapping
from functools import cache
from pathlib import PurePath
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from cockpit.domain.commands import Command
from cockpit.domain.entries import Entry, Record
from cockpit.domain.errors import JournalError
from cockpit.domain.stream import StreamLine

if TYPE_CHECKING:
    from pydantic import TypeAdapter

T = TypeVar("T")


def encode_record(record: Record) -> bytes:
    """Return one line without its newline."""
    return _dump({"seq": record.seq, "at_s": record.at_s, **_fields(record.entry)})


def decode_record(line: bytes) -> Record:
    """Read one line; raises ``JournalError`` for damage and for an entry of a newer version."""
    row = _load(line)
    try:
        seq, at_s = int(row.pop("seq")), float(row.pop("at_s"))
    except (KeyError, TypeError, ValueError) as error:
        raise JournalError("a record without seq and at_s") from error
    return Record(seq, at_s, _validate(Entry, row))


def encode_command(command: Command) -> bytes:
    """Return a command as one line of JSON."""
    return _dump(_fields(command))


def decode_command(data: bytes) -> Command:
    """Read a command; raises ``JournalError``."""
    command: Command = _validate(Command, _load(data))
    return command


def encode_stream_line(line: StreamLine) -> bytes:
    """Return one line without its newline."""
    return _dump(_fields(line))


def decode_stream_line(data: bytes) -> StreamLine:
    """Read one line; raises ``JournalError``."""
    line: StreamLine = _validate(StreamLine, _load(data))
    return line


def to_json(value: object) -> bytes:
    """Return any of our dataclasses, or plain values, as JSON."""
    return _dump(value)


def from_json(kind: type[T], data: bytes) -> T:
    """Read what ``to_json`` wrote; raises ``JournalError``."""
    return from_plain(kind, _parse(data))


def from_plain(kind: type[T], value: object) -> T:
    """Check plain dicts and lists and make ``kind`` of them; raises ``JournalError``."""
    made: T = _validate(kind, value)
    return made


def _fields(value: Any) -> dict[str, Any]:  # noqa: ANN401  # any dataclass
    return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}


def _dump(value: object) -> bytes:
    """Escape all but ASCII: a lone surrogate comes back as it was, and no text can break the line."""
    return json.dumps(value, ensure_ascii=True, separators=(",", ":"), default=_plain).encode("ascii")


def _plain(value: object) -> object:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return _fields(value)
    if isinstance(value, frozenset | set):
        return sorted(value)
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, PurePath):
        return str(value)
    raise TypeError(f"{type(value).__name__} has no place in a journal")


def _parse(data: bytes) -> object:
    try:
        parsed: object = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise JournalError(f"not JSON: {error}") from error
    return parsed


def _load(data: bytes) -> dict[str, Any]:
    row = _parse(data)
    if not isinstance(row, dict):
        raise JournalError("not a JSON object")
    return row


def _validate(kind: Any, value: object) -> Any:  # noqa: ANN401  # the adapter answers with ``kind``
    from pydantic import ValidationError  # imported late: it costs 0.2 s, and listing tasks does without

    try:
        return _adapter(kind).validate_python(value)
    except ValidationError as error:
        raise JournalError(_explain(error.errors(include_url=False)[0])) from error


@cache
def _adapter(kind: Any) -> "TypeAdapter[Any]":  # noqa: ANN401  # a type, or a union of types
    from pydantic import Discriminator, TypeAdapter  # imported late, as in _validate

    is_union = kind in (Entry, Command, StreamLine)
    annotated: Any = Annotated[kind, Discriminator("kind")] if is_union else kind
    return TypeAdapter(annotated)


def _explain(problem: Mapping[str, Any]) -> str:
    if problem["type"] == "union_tag_invalid":
        return f"{problem['ctx']['tag']!r} is unknown to this version (written by a newer one?)"
    where = ".".join(str(part) for part in problem["loc"])
    return f"{where}: {problem['msg'].lower()}" if where else problem["msg"].lower()
