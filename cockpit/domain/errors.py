"""The error tree: every message says what happened and where, every hint what to do next.

CockpitError                  exit 1
├── UsageError                exit 2: the call or a file the user wrote is wrong
├── HoldError                 infrastructure: the task waits, nothing counts against the model
│   └── ServerError           the model server: away, loading, 401, context too small, stream broken
├── GitError                  git or the repository refused
├── SandboxError              a command could not be started as asked
├── JournalError              a file of ours cannot be read: damaged, or of a newer version
└── NotFoundError             no such task, file or reference (exit 2)
"""


class CockpitError(Exception):
    """Something a person has to hear about, in one sentence, with what to do next."""

    exit_code = 1

    def __init__(self, message: str, *, hint: str = "", label: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        """What to do next, one sentence."""
        self.label = label
        """A name of ``domain.labels``, where there is one."""

    def __str__(self) -> str:
        return f"{self.message}\n  {self.hint}" if self.hint else self.message


class UsageError(CockpitError):
    """The call is wrong: nothing was started, nothing was changed."""

    exit_code = 2


class NotFoundError(UsageError):
    """What was named does not exist."""


class HoldError(CockpitError):
    """Infrastructure is missing; the task waits and goes on by itself or by a key. ``label`` is set."""


class ServerError(HoldError):
    """The model server cannot serve this request.

    ``label`` is one of ``server_unavailable``, ``auth_error``, ``ctx_overflow``, ``model_mismatch``,
    ``prefill_timeout``, ``decode_timeout``, ``ctx_truncated``.
    """

    def __init__(
        self, message: str, *, hint: str = "", label: str = "server_unavailable", is_final: bool = False
    ) -> None:
        super().__init__(message, hint=hint, label=label)
        self.is_final = is_final
        """True when asking again cannot help (400, 401): the request is never repeated by itself."""


class GitError(CockpitError):
    """Git, or the state of a repository, stands in the way."""


class SandboxError(CockpitError):
    """A command could not be started with the isolation asked for."""


class JournalError(CockpitError):
    """A journal, command or stream cannot be read; the message names the file and, where there is one, the line."""
