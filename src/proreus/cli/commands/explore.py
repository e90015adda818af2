"""``proreus explore``: run a program and a workload again for everything that can go wrong."""

from __future__ import annotations

import asyncio
import shlex
import tempfile
from pathlib import Path

import click

from proreus.cli.options import duration
from proreus.cli.ready import say
from proreus.testing.explore.faults import Plan
from proreus.testing.explore.outcome import Report, Unusable
from proreus.testing.explore.processes import ExploredCommands, exploring_processes
from proreus.testing.explore.settings import Settings


@click.command()
@click.option("--program", default="", metavar="COMMAND",
              help="What is explored, until it is ended. Default: the workload.")  # fmt: skip
@click.option("--manifests", type=click.Path(exists=True, path_type=Path), metavar="PATH",
              help="What is there before each run: a file or a folder.")  # fmt: skip
@duration("--quiet", "2s", "It has settled when the program asked nothing for so long.")
@click.option("--plans", type=int, metavar="NUMBER", help="Run so many, chosen by chance.")
@click.option("--plan", "only", default="", metavar="NAME", help="Run this one alone.")
@click.option("--all", "goes_on", is_flag=True, help="Go on after the first difference.")
@click.argument("workload", nargs=-1, required=True)
def explore(
    program: str,
    manifests: Path | None,
    quiet: float,
    plans: int | None,
    only: str,
    goes_on: bool,
    workload: tuple[str, ...],
) -> None:
    """Run a controller and a workload again for everything that can go wrong.

    There is a server for it, which both find by KUBECONFIG. WORKLOAD must end; behind "--" it may
    have options: proreus explore --program ./controller.sh -- kubectl apply -f website.yaml
    """
    settings = Settings(
        quiet_s=quiet,
        patience_s=max(60.0, 10 * quiet),
        lag_s=quiet / 2,
        restart_s=quiet / 4,
        plans_max=plans,
        findings_max=1_000_000 if goes_on else 1,
    )
    commands = ExploredCommands(workload, tuple(shlex.split(program)))
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
    commands: ExploredCommands, settings: Settings, manifests: Path | None, only: str
) -> Report:
    with tempfile.TemporaryDirectory(prefix="proreus-explore-") as folder:
        async with exploring_processes(commands, settings, Path(folder), manifests) as exploration:
            return await exploration.report(_say_progress, only)


def _say_progress(plan: Plan, makes_difference: bool) -> None:
    say(f"{'DIFFERS' if makes_difference else 'same   '}  {plan}")
