"""Runs llama.cpp's own server inside this process, fitted to the machine."""

import importlib.metadata
import json
import signal
import threading
from dataclasses import asdict, dataclass
from pathlib import Path
from types import FrameType

from cockpit.domain.errors import CockpitError, HoldError, NotFoundError
from cockpit.settings.schema import EmbeddedSettings

LOOPBACK = "127.0.0.1"
CONTEXTS = (8192, 4096, 2048)
"""Contexts of one slot that are tried, in tokens, the largest first."""
FAST_CORES = 8
"""Below this many cores 8192 tokens take minutes to read (30 tokens/s on 2 cores), so they are not offered."""
OVERHEAD_MIB = 512
"""What the server needs besides model and context."""
CACHE_MOST_MIB = 4096


@dataclass(frozen=True, slots=True)
class Sizes:
    """How large the server is made."""

    context_tokens: int
    """Of one slot."""
    slots: int
    threads: int
    batch_tokens: int
    cache_mib: int
    """Memory for prompts that are in no slot now."""
    speculation: str


@dataclass(frozen=True, slots=True)
class EmbeddedOptions:
    """Everything one server process has to know."""

    model: Path
    port: int
    """0 = a free one."""
    api_key_file: Path
    sizes: Sizes


def fit(wishes: EmbeddedSettings, *, cores: int, free_mib: int, model_mib: int) -> Sizes:
    """Choose slots and context that fit into the memory; what the settings name is taken as it is.

    Raises ``HoldError`` when not even the smallest fits.
    """
    for context, slots in _choices(wishes, cores):
        left = free_mib - model_mib - OVERHEAD_MIB - context_mib(context * slots, model_mib)
        if left >= 0:
            return Sizes(
                context_tokens=context,
                slots=slots,
                threads=wishes.threads or cores,
                batch_tokens=wishes.batch_tokens,
                cache_mib=min(CACHE_MOST_MIB, left // 4),
                speculation=wishes.speculation,
            )
    needed = model_mib + OVERHEAD_MIB + context_mib(context * slots, model_mib)
    raise HoldError(
        f"the embedded server needs {needed} MiB of memory, {free_mib} MiB are free",
        hint="close something, lower embedded.context_tokens and embedded.slots, or set server.url",
        label="server_unavailable",
    )


def context_mib(tokens: int, model_mib: int) -> int:
    """Estimate the memory of a context: 32 KiB a token and GiB of model, measured models need 14-28."""
    return -(-tokens * 32 * model_mib // (1024 * 1024))


def _choices(wishes: EmbeddedSettings, cores: int) -> list[tuple[int, int]]:
    offered = CONTEXTS if cores >= FAST_CORES else CONTEXTS[1:]
    contexts = (wishes.context_tokens,) if wishes.context_tokens else offered
    slots = (wishes.slots,) if wishes.slots else (2, 1)
    return [(context, count) for context in contexts for count in slots]


def options_file(home: Path) -> Path:
    """Return where the options of the background server lie."""
    return home / "server.options.json"


def write_options(home: Path, options: EmbeddedOptions) -> None:
    """Leave the options for the process that is about to start."""
    options_file(home).write_text(json.dumps(asdict(options), default=str), "utf-8")


def read_options(home: Path) -> EmbeddedOptions:
    """Read the options that were left; raises ``NotFoundError`` when there are none."""
    try:
        loaded = json.loads(options_file(home).read_text("utf-8"))
        return EmbeddedOptions(
            Path(loaded["model"]), int(loaded["port"]), Path(loaded["api_key_file"]), Sizes(**loaded["sizes"])
        )
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise NotFoundError(
            f"{options_file(home)} holds no options to run a server with", hint="use: cockpit server start"
        ) from error


def build_name() -> str:
    """Name the build of the embedded server: the wheel's version, since the wheel leaves llama.cpp's own empty."""
    return f"xllamacpp {importlib.metadata.version('xllamacpp')}"


def serve(options: EmbeddedOptions) -> None:
    """Load the model and serve until SIGTERM or SIGINT; raises ``CockpitError`` when it cannot start.

    A signal that comes while the model is loading takes effect when it is in.
    """
    is_over = threading.Event()

    def stop(number: int, frame: FrameType | None) -> None:
        is_over.set()

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, stop)
    server = _start(options)
    print(f"serving {options.model} at {server.listening_address}", flush=True)  # noqa: T201  # its log
    while not is_over.wait(1.0):  # with a limit, so that Python gets to see signals
        pass
    del server  # waits for what is under way and ends the threads


def _start(options: EmbeddedOptions):  # type: ignore[no-untyped-def]  # noqa: ANN202  # the wheel ships no types
    try:
        import xllamacpp  # imported late: 100 MB that only this process needs
    except ImportError as error:
        raise CockpitError(
            f"the embedded server is not installed: {error}",
            hint="pip install 'llama-cockpit[local]', or set server.url to a server of yours",
        ) from error
    try:
        return xllamacpp.Server(_params(xllamacpp, options))
    except (RuntimeError, ValueError, OSError) as error:
        raise CockpitError(
            f"llama.cpp cannot serve {options.model}: {error}",
            hint="the lines above say more; is the file a whole GGUF?",
        ) from error


def _params(xllamacpp, options: EmbeddedOptions):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    sizes = options.sizes
    params = xllamacpp.CommonParams()
    params.model.path = str(options.model)
    params.hostnames = [LOOPBACK]
    params.port = options.port
    params.api_keys = [options.api_key_file.read_text("utf-8").strip()]
    params.n_ctx = sizes.context_tokens * sizes.slots
    params.n_parallel = sizes.slots
    params.kv_unified = False  # each slot keeps what it has, whatever the others do
    params.fit_params = False  # the sizes are chosen here, and are what the server then reports
    params.n_batch = params.n_ubatch = sizes.batch_tokens
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = sizes.threads
    params.cache_ram_mib = sizes.cache_mib
    params.endpoint_slots = params.endpoint_metrics = params.endpoint_props = True
    params.ui = False
    if sizes.speculation != "none":
        kind = sizes.speculation.upper().replace("-", "_")
        kinds = xllamacpp.common_speculative_type
        params.speculative.types = [getattr(kinds, f"COMMON_SPECULATIVE_TYPE_{kind}")]
    return params
