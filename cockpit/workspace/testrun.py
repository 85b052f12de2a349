"""Runs a project's tests once, on a fresh checkout of one tree, and reports facts that the tests cannot talk up."""

import asyncio
from dataclasses import dataclass, replace
from pathlib import Path

from cockpit.adapters.shell import CommandResult, Confinement, Level, RunControl, run
from cockpit.domain.errors import GitError
from cockpit.domain.testing import ModuleOrigin, Runner, RunReport
from cockpit.settings.schema import SandboxSettings
from cockpit.workspace.environment import Environment
from cockpit.workspace.harvest import written_by_run
from cockpit.workspace.installed import compiled_digest, digest_of, lay_over
from cockpit.workspace.layout import project_modules
from cockpit.workspace.origins import describe_origins, origins_probe, read_origins
from cockpit.workspace.pytest_results import PytestResults, read_results
from cockpit.workspace.reporting import plant_reporter, why_no_result
from cockpit.workspace.surroundings import private_folder, run_variables
from cockpit.workspace.testplan import TestPlan, pytest_config_text

TAIL = 20_000
"""Characters of the end of the output that a report carries."""
PROBE_S = 60.0


@dataclass(frozen=True, slots=True)
class _Bench:
    """Where and how one run is done."""

    plan: TestPlan
    environment: Environment
    repo_git: Path
    checkout: Path
    tree: str
    level: Level
    settings: SandboxSettings
    wall_s: float
    log: Path
    control: RunControl | None
    token: str
    private: Path
    """Folder outside the checkout that the run may write to: home, caches, result files."""
    modules: tuple[str, ...]


async def run_tests(
    plan: TestPlan,
    environment: Environment,
    *,
    repo_git: Path,
    checkout: Path,
    tree: str,
    level: Level,
    settings: SandboxSettings,
    wall_s: float,
    log: Path,
    control: RunControl | None = None,
    token: str = "",
) -> RunReport:
    """Run a plan in a fresh checkout of ``tree``, made by the caller; ``wall_s`` seconds at most.

    The checkout is used up: what the tests wrote there is named in the report. ``log`` is reported as it was given.
    A report with a ``problem`` proves nothing and carries no results.
    """
    async with private_folder(log.parent) as private:
        modules = await asyncio.to_thread(_modules, checkout, environment)
        repo_git, checkout = _absolute(repo_git), _absolute(checkout)
        bench = _Bench(
            plan, environment, repo_git, checkout, tree, level, settings, wall_s, log, control, token, private, modules
        )  # fmt: skip
        return await _run(bench)


async def _run(bench: _Bench) -> RunReport:
    if bench.environment.compiled != (compiled_digest(bench.checkout) if bench.environment.compiled else ""):
        why = "sources of compiled modules differ from those that were built: give --setup and a --test that builds"
        return _report(bench, None, PytestResults(problem=why), None, ())
    laid = lay_over(bench.environment.generated, bench.checkout) if bench.environment.generated else {}
    if bench.plan.runner is Runner.PYTEST:
        result, read = await _run_pytest(bench)
        origins = describe_origins(read.origins, bench.checkout) if read.exit_status is not None else None
    else:
        origins = await _probe_origins(bench)
        result = await _command(bench, bench.plan.argv, bench.log, bench.wall_s)
        read = PytestResults(problem=_infrastructure(result, bench, ""))
    written, complaint = await asyncio.to_thread(_written, bench, laid)
    if complaint:
        read = PytestResults(problem=read.problem or complaint)
    return _report(bench, result, read, origins, written)


async def _run_pytest(bench: _Bench) -> tuple[CommandResult, PytestResults]:
    planted = plant_reporter(bench.private, bench.modules)
    argv = (*bench.plan.argv, *planted.options(has_cache="no:cacheprovider" not in _all_options(bench)))
    result = await _command(bench, argv, bench.log, bench.wall_s)
    read = await asyncio.to_thread(read_results, planted.folder, planted.secret)
    problem = _infrastructure(result, bench, read.running)
    problem = problem or why_no_result(read, result.exit_code, result.tail)
    return result, replace(read, problem=problem, results={} if problem else read.results)


def _all_options(bench: _Bench) -> str:
    return " ".join(bench.plan.argv) + pytest_config_text(bench.checkout)


async def _probe_origins(bench: _Bench) -> tuple[ModuleOrigin, ...] | None:
    """Ask the environment's interpreter, before the tests run, where it would import the project from."""
    if bench.environment.python is None:
        return None
    answer = bench.private / "origins.json"
    argv = origins_probe(bench.environment.python, answer, bench.modules)
    await _command(bench, argv, bench.private / "origins.log", min(PROBE_S, bench.wall_s))
    found = read_origins(answer)
    return None if found is None else describe_origins(found, bench.checkout)


async def _command(bench: _Bench, argv: tuple[str, ...], log: Path, wall_s: float) -> CommandResult:
    env = run_variables(bench.plan, bench.environment, bench.checkout, bench.private)
    confinement = Confinement(
        writable=(bench.checkout, bench.private),
        readable=(bench.repo_git, *((bench.environment.path,) if bench.environment.path else ())),
        memory_mib=bench.settings.memory_mib,
        processes=bench.settings.processes,
        wall_s=wall_s,
        output_mib=bench.settings.output_mib,
    )
    return await run(
        argv, cwd=bench.checkout, env=env, confinement=confinement, log=log, level=bench.level,
        control=bench.control, token=bench.token,
    )  # fmt: skip


def _modules(checkout: Path, environment: Environment) -> tuple[str, ...]:
    return tuple(sorted({*project_modules(checkout), *environment.modules}))


def _infrastructure(result: CommandResult, bench: _Bench, running: str) -> str:
    """Say why a run has nothing to tell, as far as the command itself shows; empty when it ended by itself."""
    where = f", while {running} ran" if running else ""
    if result.timed_out:
        return f"the tests took longer than {bench.wall_s:.0f} s{where}"
    if result.killed:
        return result.problem or f"the run was killed{where}"
    return result.problem


def _written(bench: _Bench, laid: dict[str, str]) -> tuple[tuple[str, ...], str]:
    """Return what the run wrote, without what was laid there by us, and a complaint when that cannot be told."""
    if not bench.checkout.is_dir():
        return (), "the tests removed their checkout"
    try:
        found = written_by_run(bench.repo_git, bench.checkout, bench.tree)
    except (GitError, OSError) as error:
        return (), f"what the tests wrote cannot be read: {error}"
    return tuple(path for path in found if laid.get(path) != digest_of(bench.checkout / path)), ""


def _report(
    bench: _Bench,
    result: CommandResult | None,
    read: PytestResults,
    origins: tuple[ModuleOrigin, ...] | None,
    written: tuple[str, ...],
) -> RunReport:
    return RunReport(
        command=bench.plan.argv,
        tree=bench.tree,
        runner=bench.plan.runner,
        exit_code=result.exit_code if result else None,
        timed_out=result.timed_out if result else False,
        elapsed_s=result.elapsed_s if result else 0.0,
        level=str(result.level if result else bench.level),
        results=read.results,
        origins=origins,
        written=written,
        tail=result.tail[-TAIL:] if result else "",
        log=str(bench.log),
        problem=read.problem,
    )


def _absolute(path: Path) -> Path:
    return path.absolute()
