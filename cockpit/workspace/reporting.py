"""Plants our reporter for one run of pytest, and says in words why a run has no result."""

import hashlib
import json
import secrets
import shutil
from dataclasses import dataclass
from pathlib import Path

from cockpit.workspace.pytest_results import DISAGREE, JUNIT, PytestResults

SOURCE = Path(__file__).with_name("pytest_reporter.py")
EXIT_WORDS = {
    2: "pytest was interrupted",
    3: "pytest met an internal error",
    4: "pytest refused its options or its configuration",
    5: "no tests ran",
}
LINES_QUOTED = 4


@dataclass(frozen=True, slots=True)
class Planted:
    """A reporter that waits for its run."""

    folder: Path
    """Where the reporter lies and leaves its files."""
    name: str
    """Its module's name, made up for this run so that no file of the checkout can take its place."""
    secret: str

    def options(self, *, has_cache: bool) -> tuple[str, ...]:
        """Return what pytest needs to be told beyond the plan; what the project's configuration says before gives way.

        A run that stops at the first failure or collection error would hide all other tests.
        """
        cache = ("-o", f"cache_dir={self.folder.parent / 'cache'}") if has_cache else ()
        return (
            "-p", self.name, f"--junit-xml={self.folder / JUNIT}", "-o", "junit_logging=no", *cache,
            "--continue-on-collection-errors", "--maxfail=0",
        )  # fmt: skip


def plant_reporter(private: Path, modules: tuple[str, ...]) -> Planted:
    """Copy the reporter below the run's private folder, with a fresh secret and the modules to look for."""
    planted = Planted(private / "plugin", f"cockpit_reporter_{secrets.token_hex(8)}", secrets.token_hex(32))
    planted.folder.mkdir(exist_ok=True)
    shutil.copyfile(SOURCE, planted.folder / f"{planted.name}.py")
    plan = {"secret": planted.secret, "modules": list(modules)}
    (planted.folder / "plan.json").write_text(json.dumps(plan), "utf-8")
    return planted


def reporter_version() -> str:
    """Return a digest of the reporter: results of another version are not comparable."""
    return hashlib.sha256(SOURCE.read_bytes()).hexdigest()[:12]


def why_no_result(read: PytestResults, exit_code: int | None, tail: str) -> str:
    """Say why a run that ended by itself proves nothing; empty when it does prove something."""
    where = f" in {read.running}" if read.running else ""
    if read.exit_status is None:
        return _quote(f"{read.problem}{where} (exit code {exit_code})", tail)
    if exit_code != read.exit_status:
        return _quote(f"{DISAGREE}: pytest meant to exit with {read.exit_status} and exited with {exit_code}", tail)
    if exit_code in EXIT_WORDS:
        return _quote(EXIT_WORDS[exit_code] + where, tail if exit_code != 5 else "")
    if exit_code not in (0, 1):
        return _quote(f"pytest exited with {exit_code}", tail)
    if read.problem:
        return read.problem
    if not read.results:
        return EXIT_WORDS[5]
    return f"{DISAGREE}: exit code 0 although tests failed" if exit_code == 0 and read.has_failures else ""


def _quote(sentence: str, tail: str) -> str:
    lines = [line.strip() for line in tail.splitlines() if line.strip()][-LINES_QUOTED:]
    return "\n".join([sentence, *lines])
