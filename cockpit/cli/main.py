"""Runs one verb: parses, imports what that verb needs, and turns every error into a sentence and an exit code."""

import argparse
import importlib
import os
import sys
import tempfile
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path

from cockpit.cli.output import print_json
from cockpit.cli.parser import parse
from cockpit.domain.errors import CockpitError
from cockpit.domain.text import visible

INTERRUPTED = 130


def main(argv: Sequence[str] | None = None) -> int:
    """Run ``cockpit``; returns 0 done, 1 it did not work out, 2 the call was wrong, 130 interrupted."""
    args = list(sys.argv[1:] if argv is None else argv)
    as_json = "--json" in args
    try:
        return _run(parse(args))
    except CockpitError as error:
        return _report(error, as_json=as_json)
    except KeyboardInterrupt:
        sys.stderr.write("\n")
        return INTERRUPTED
    except BrokenPipeError:
        return _reader_left()
    except Exception as error:  # noqa: BLE001  # the boundary: a person gets a sentence, the traceback goes to a file
        return _report(_unexpected(error, show="--debug" in args), as_json=as_json)


def _run(args: argparse.Namespace) -> int:
    """Import late: a verb pays for its own imports only (httpx costs half a second, pydantic a third)."""
    module, _, name = args.target.partition(":")
    verb: Callable[[argparse.Namespace], int] = getattr(importlib.import_module(f"cockpit.cli.{module}"), name)
    code = verb(args)
    sys.stdout.flush()  # a reader that has gone is noticed here, not at exit
    return code


def _report(error: CockpitError, *, as_json: bool) -> int:
    if as_json:
        print_json({"error": error.message, "hint": error.hint, "label": error.label})
        return error.exit_code
    sys.stderr.write(f"cockpit: {visible(error.message, keep_newlines=True)}\n")
    if error.hint:
        sys.stderr.write(f"  {visible(error.hint, keep_newlines=True)}\n")
    return error.exit_code


def _unexpected(error: Exception, *, show: bool) -> CockpitError:
    text = "".join(traceback.format_exception(error))
    if show:
        sys.stderr.write(text)
    try:
        handle, path = tempfile.mkstemp(prefix="cockpit-error-", suffix=".txt")
        with os.fdopen(handle, "w", encoding="utf-8", errors="backslashreplace") as file:
            file.write(text)
    except OSError:
        path = ""
    kept = f"the traceback is in {path}" if path else "repeat with --debug to see the traceback"
    return CockpitError(f"unexpected {type(error).__name__}: {error}", hint=f"this is a mistake in cockpit; {kept}")


def _reader_left() -> int:
    """End quietly when the reader of a pipe has gone; what Python still wants to flush goes to nowhere."""
    with Path(os.devnull).open("wb") as nowhere:
        os.dup2(nowhere.fileno(), sys.stdout.fileno())
    return 0
