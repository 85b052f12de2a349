"""Decides which file an edit means and refuses every path that could leave the tree or fool a reader.

Nothing is guessed: a path that names no tracked file is refused with the names that come close.
"""

import posixpath
import re
from collections.abc import Collection

from cockpit.domain.text import hidden_positions
from cockpit.edits.model import RefusedError, TreeView

_DEVICES = re.compile(r"(?:con|prn|aux|nul|conin\$|conout\$|com[0-9¹²³]|lpt[0-9¹²³])(?:\..*)?", re.IGNORECASE)
_GIT = re.compile(r"\.git(?:[. ]*|:.*)|git~[0-9]+", re.IGNORECASE)
_MAX_CANDIDATES = 5


def resolve(path: str | None, tree: TreeView) -> str:
    """Return the normalised path an edit means; without one, the only file in play.

    Raises RefusedError (``path_invalid``) when the path is unsafe or when there is something there that is no file.
    """
    if path is None:
        return _only_file_in_play(tree)
    normal = normalise(path)
    _check_parents(normal, tree)
    kind = tree.kind(normal)
    if kind == "symlink":
        raise _invalid(f"{normal} is a symbolic link, or lies below one")
    if kind in ("directory", "submodule"):
        raise _invalid(f"{normal} is a {kind}")
    return normal


def normalise(path: str) -> str:
    """Return a relative posix path in its shortest form. Raises RefusedError for anything that is none."""
    if not path.strip() or path.endswith("/"):
        raise _invalid("the path is empty or names a folder")
    if path.startswith(("/", "~")) or re.match(r"[A-Za-z]:[\\/]", path):
        raise _invalid("the path is absolute; it has to start at the top of the repository")
    if "\\" in path:
        raise _invalid("the path holds a backslash; folders are divided by /")
    if hidden_positions(path) or any(char in path for char in "\n\t"):
        raise _invalid("the path holds control or hidden characters")
    for part in path.split("/"):
        _check_part(part)
    return posixpath.normpath(path)


def _check_part(part: str) -> None:
    if part == "..":
        raise _invalid("the path leads out of its folder with ..")
    if _GIT.fullmatch(part):
        raise _invalid("the path lies in git's own folder")
    if part != "." and part.endswith((".", " ")):
        raise _invalid(f"the part {part!r} ends in a dot or a blank")
    if _DEVICES.fullmatch(part):
        raise _invalid(f"{part!r} is the name of a device on some systems")


def is_known(path: str, tree: TreeView) -> bool:
    """Tell whether an edit may search a file: it is tracked, or exists and was shown to the model."""
    return path in tree.tracked() or (path in tree.in_play and tree.kind(path) == "file")


def check_known(path: str, tree: TreeView) -> None:
    """Raise RefusedError with the candidates when ``path`` names no file that could be searched."""
    if is_known(path, tree):
        if tree.kind(path) != "file":
            raise _invalid(f"{path} is tracked, but it is not in the worktree")
        return
    if tree.kind(path) == "file" and tree.is_ignored(path):
        raise _ignored(path)
    raise _invalid(f"{path} names no tracked file", hint=candidates(path, tree.tracked()))


def check_new(path: str, tree: TreeView) -> None:
    """Raise RefusedError when ``path`` cannot become a new file."""
    if is_known(path, tree):
        return
    if tree.is_ignored(path):
        raise _ignored(path)
    tracked = tree.tracked()
    twin = next((name for name in sorted(tracked) if name.casefold() == path.casefold()), None)
    if twin:
        raise _invalid(f"{path} differs from {twin} only in case", hint=f"the file is {twin}")
    if "/" not in path and any(posixpath.basename(name) == path for name in tracked):
        raise _invalid(
            f"{path} would be a new file at the top, but a file of that name is tracked elsewhere",
            hint=candidates(path, tracked),
        )


def candidates(path: str, tracked: Collection[str]) -> str:
    """Return a sentence with the tracked files of the same name, the likeliest first; empty when there are none."""
    name = posixpath.basename(path)
    same = [other for other in tracked if posixpath.basename(other) == name]
    same.sort(key=lambda other: (not other.endswith(f"/{path}"), other))
    if not same:
        return ""
    more = f" and {len(same) - _MAX_CANDIDATES} more" if len(same) > _MAX_CANDIDATES else ""
    return f"tracked files of that name: {', '.join(same[:_MAX_CANDIDATES])}{more}"


def _check_parents(path: str, tree: TreeView) -> None:
    parts = path.split("/")
    for count in range(1, len(parts)):
        parent = "/".join(parts[:count])
        kind = tree.kind(parent)
        if kind == "symlink":
            raise _invalid(f"{parent} is a symbolic link")
        if kind == "submodule":
            raise _invalid(f"{parent} is a submodule")
        if kind == "file":
            raise _invalid(f"{parent} is a file, no folder")


def _only_file_in_play(tree: TreeView) -> str:
    if len(tree.in_play) == 1:
        return resolve(tree.in_play[0], tree)
    raise _invalid(
        f"the edit names no file and {len(tree.in_play)} files are in play",
        hint="write the path of the file alone on the line before the block",
    )


def _invalid(message: str, *, hint: str = "") -> RefusedError:
    return RefusedError("path_invalid", message, hint=hint)


def _ignored(path: str) -> RefusedError:
    return RefusedError(
        "edit_ignored_path", f"{path} is hidden from the patch by the ignore rules", hint="edit a file that git tracks"
    )
