"""Settings and environment that keep git from starting anything a repository names, or from asking anybody."""

import os
from pathlib import Path

SETTINGS = (
    "core.hooksPath=/dev/null", "core.fsmonitor=false", "core.untrackedCache=false", "core.pager=cat",
    "core.askPass=", "core.sshCommand=ssh -oBatchMode=yes", "credential.helper=", "core.excludesFile=/dev/null",
    "core.attributesFile=/dev/null", "core.autocrlf=false", "core.safecrlf=false", "core.quotePath=false",
    "core.logAllRefUpdates=false", "protocol.ext.allow=never", "gc.auto=0", "maintenance.auto=false",
    "commit.gpgSign=false", "log.showSignature=false", "submodule.recurse=false", "advice.detachedHead=false",
    "diff.renameLimit=2000",
    "http.lowSpeedLimit=100",
    "http.lowSpeedTime=60",
)  # fmt: skip
"""Command-line settings outrank every configuration file, the repository's own included."""
USER_CONFIG = ("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM")
"""Where a caller's environment may say that the user's own configuration lies."""
OWNER_TEST = "GIT_TEST_ASSUME_DIFFERENT_OWNER"
NO_DIFF_PROGRAMS = ("--no-ext-diff", "--no-textconv")
"""To be given to every diff."""


def environment() -> dict[str, str]:
    """Return the environment for git: the caller's without its GIT_* variables, without any prompt or transport."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("GIT_", "SSH_ASKPASS"))}
    if OWNER_TEST in os.environ:
        kept[OWNER_TEST] = os.environ[OWNER_TEST]
    # A relative entry would find a program named git-something in the repository.
    kept["PATH"] = os.pathsep.join(part for part in kept.get("PATH", "").split(os.pathsep) if Path(part).is_absolute())
    return kept | {
        "LC_ALL": "C",
        "LANGUAGE": "C",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_ALLOW_PROTOCOL": "none",
        "GIT_LITERAL_PATHSPECS": "1",
        "GIT_PAGER": "cat",
        "GIT_EDITOR": "false",
    }
