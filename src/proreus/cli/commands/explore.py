"""``proreus explore``: run a program and a workload again for everything that can go wrong."""

from __future__ import annotations

import asyncio
import inspect
import runpy
import shlex
import tempfile
from collections.abc import Sequence
from pathlib import Path

import click

from proreus.cli.options import duration
from proreus.cli.ready import say
from proreus.testing.explore.faults import Plan
from proreus.testing.explore.outcome import Report, Unusable
from proreus.testing.explore.processes import ExploredCommands, exploring_processes
from proreus.testing.explore.settings import Settings
from proreus.testing.explore.state import Invariant


@click.command()
@click.option("--program", default="", metavar="COMMAND",
              help="What is explored, until it is ended. Default: the workload.")  # fmt: skip
@click.option("--then", "more", multiple=True, metavar="COMMAND",
              help="Another workload, once all is quiet; may be repeated.")  # fmt: skip
@click.option("--invariants", type=click.Path(exists=True, dir_okay=False, path_type=Path),
              metavar="FILE", help="A Python file: what must hold at every revision.")  # fmt: skip
@click.option("--manifests", type=click.Path(exists=True, path_type=Path), metavar="PATH",
              help="What is there before each run: a file or a folder.")  # fmt: skip
@duration("--quiet", "2s", "It has settled when the program asked nothing for so long.")
@click.option("--plans", type=int, metavar="NUMBER", help="Run so many, chosen by chance.")
@click.option("--plan", "only", multiple=True, metavar="NAME",
              help="Run this one alone; may be repeated.")  # fmt: skip
@click.option("--all", "goes_on", is_flag=True, help="Go on after the first difference.")
@click.argument("workload", nargs=-1, required=True)
def explore(  # noqa: PLR0913 - its flags
    program: str,
    more: tuple[str, ...],
    invariants: Path | None,
    manifests: Path | None,
    quiet: float,
    plans: int | None,
    only: tuple[str, ...],
    goes_on: bool,
    workload: tuple[str, ...],
) -> None:
    """Run a controller and a workload again for everything that can go wrong.

    There is a server for it, which both find by KUBECONFIG. WORKLOAD must end; behind "--" it may
    have options: proreus explore --program ./controller.sh -- kubectl apply -f website.yaml
    """
    settings = Settings(
        invariants=_invariants(invariants) if invariants is not None else (),
        quiet_s=quiet,
        patience_s=max(60.0, 10 * quiet),
        lag_s=quiet / 2,
        restart_s=quiet / 4,
        plans_max=plans,
        findings_max=1_000_000 if goes_on else 1,
    )
    workloads = [workload, *map(shlex.split, more)]
    commands = ExploredCommands(workloads, tuple(shlex.split(program)))
    try:
        report = asyncio.run(_explored(commands, settings, manifests, only))
    except Unusable as problem:
        raise click.ClickException(str(problem)) from problem
    for finding in report.findings:
        say("", f"{finding}".partition("\n\nRun it alone:")[0])
        say("", f"Run it alone: --plan {shlex.quote(str(finding.plan))}")
    say("", str(report))
    if report.findings:
        raise click.exceptions.Exit(1)


async def _explored(
    commands: ExploredCommands, settings: Settings, manifests: Path | None, only: Sequence[str]
) -> Report:
    with tempfile.TemporaryDirectory(prefix="proreus-explore-") as folder:
        async with exploring_processes(commands, settings, Path(folder), manifests) as exploration:
            return await exploration.report(_say_progress, only)


def _invariants(file: Path) -> tuple[Invariant, ...]:
    """The public functions that it defines."""
    found = {
        name: value
        for name, value in runpy.run_path(str(file)).items()
        if inspect.isfunction(value) and not name.startswith("_")
    }
    own = [one for one in found.values() if one.__code__.co_filename == str(file)]
    if not own:
        raise click.BadParameter(f"{file} defines no function", param_hint="--invariants")
    return tuple(own)


def _say_progress(plan: Plan, makes_difference: bool) -> None:
    say(f"{'DIFFERS' if makes_difference else 'same   '}  {plan}")
