"""Every setting with its default and meaning; the README's table is checked against this file."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from cockpit.domain.outcomes import Limits


class Section(BaseModel):
    """A table of ``config.toml``; unknown keys are errors."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class ServerSettings(Section):
    """``[server]``: the model server."""

    url: str = Field("", description="Address of your llama.cpp server, e.g. http://127.0.0.1:8080; empty = embedded")
    api_key: str = Field("", description="API key; prefer api_key_file or COCKPIT_API_KEY", repr=False)
    api_key_file: str = Field("", description="File whose first line is the API key")
    model: str = Field("", description="Model to ask for on a router; empty = whatever the server has loaded")
    dialect: Literal["auto", "llama", "openai"] = Field("auto", description="llama.cpp's own endpoints, or OpenAI chat")
    connect_timeout_s: float = Field(10.0, gt=0, description="Seconds to wait for a connection")


class EmbeddedSettings(Section):
    """``[embedded]``: the server that runs here when ``server.url`` is empty."""

    context_tokens: int = Field(0, ge=0, description="Context of one slot in tokens; 0 = fitted to the memory")
    slots: int = Field(0, ge=0, description="Parallel slots; 0 = fitted to the machine")
    threads: int = Field(0, ge=0, description="CPU threads; 0 = all physical cores")
    batch_tokens: int = Field(128, ge=32, description="Prefill batch in tokens; small = quick pause and kill on a CPU")
    speculation: Literal["none", "ngram-simple", "ngram-mod", "ngram-map-k"] = Field(
        "none", description="N-gram speculation; faster on answers that repeat the file, not token-equal"
    )


class BudgetSettings(Section):
    """``[budget]``: how much one task may cost."""

    rounds: int = Field(6, ge=1, le=6, description="Rounds per attempt")
    attempts: int = Field(2, ge=1, le=5, description="Attempts per task (B starts when A is stuck)")
    minutes: float = Field(45.0, gt=0, description="Minutes of work per task; waiting does not count")
    answer_tokens: int = Field(4096, ge=64, description="Most tokens of one answer")
    total_tokens: int = Field(200_000, ge=1000, description="Most generated tokens per task")


class LimitSettings(Section):
    """``[limits]``: thresholds of the guards."""

    max_changed_lines: int = Field(60, ge=1, description="Added plus deleted lines before the bloat guard blocks")
    max_files: int = Field(3, ge=1, description="Touched files before the scope guard blocks")
    review_unproven: bool = Field(default=True, description="Whether a patch that nothing could test may reach review")

    def in_force(self) -> Limits:
        """Return the guards' thresholds."""
        return Limits(
            max_changed_lines=self.max_changed_lines,
            max_files=self.max_files,
            review_unproven=self.review_unproven,
        )


class WatchdogSettings(Section):
    """``[watchdog]``: when a model call counts as hung."""

    prefill_stall_s: float = Field(300.0, gt=0, description="Seconds without prefill progress")
    decode_stall_s: float = Field(120.0, gt=0, description="Seconds without a token, after the first one")
    call_s: float = Field(1800.0, gt=0, description="Seconds one model call may take in all")
    repeated_lines: int = Field(8, ge=3, description="Same block of lines in a row before the answer counts as a loop")


class SandboxSettings(Section):
    """``[sandbox]``: how commands of a repository are run."""

    mode: Literal["auto", "bubblewrap", "plain"] = Field("auto", description="auto = bubblewrap when it works here")
    memory_mib: int = Field(4096, ge=64, description="Private memory of one process, MiB")
    processes: int = Field(512, ge=8, description="Most processes a command may have")
    setup_s: float = Field(900.0, gt=0, description="Seconds for setting up an environment")
    test_s: float = Field(900.0, gt=0, description="Most seconds for a test run (3 x baseline, at least 60, below it)")
    output_mib: int = Field(64, ge=1, description="Most output of one command kept on disk, MiB")


class EngineSettings(Section):
    """``[engine]``: the background process."""

    tasks_at_once: int = Field(2, ge=1, le=64, description="Tasks worked on at the same time")
    retry_s: float = Field(10.0, gt=0, description="Seconds between looks at a server that is away")


class Settings(BaseModel):
    """All settings."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    server: ServerSettings = ServerSettings()
    embedded: EmbeddedSettings = EmbeddedSettings()
    budget: BudgetSettings = BudgetSettings()
    limits: LimitSettings = LimitSettings()
    watchdog: WatchdogSettings = WatchdogSettings()
    sandbox: SandboxSettings = SandboxSettings()
    engine: EngineSettings = EngineSettings()
