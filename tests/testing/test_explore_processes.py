"""``proreus explore``: programs in processes of their own, of any language.

Time is real here, so all explorations run at once, each with a server of its own.
"""

from __future__ import annotations

import asyncio
import shlex
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from proreus.api.wire import json
from proreus.testing.explore import Report, Settings, State
from proreus.testing.explore.processes import ExploredCommands, exploring_processes
from proreus.testing.explore.state import Invariant
from proreus.testing.program import running_program

PROGRAMS = Path(__file__).parent / "programs"
MAPS = "/api/v1/namespaces/default/configmaps"
QUIET_S = 2.0
DEADLINE_S = 240  # of a run that hangs


@dataclass(frozen=True, slots=True)
class Case:
    """A program, what is done to its objects, and the plans that show its bug."""

    program: str
    workloads: Sequence[Sequence[str]]
    plans: Sequence[str]
    invariants: tuple[Invariant, ...] = ()


def made(name: str, label: str, **data: str) -> Sequence[str]:
    body = {"metadata": {"name": name, "labels": {label: "yes"}}, "data": data}
    return ("POST", MAPS, json.encode(body).decode())


def changed(name: str, **data: str) -> Sequence[str]:
    return ("PATCH", f"{MAPS}/{name}", json.encode({"data": data}).decode())


def only_the_leader_writes(state: State) -> bool:
    change = state.change
    if change is None or change.new is None or not change.key[1].endswith("-copy"):
        return True
    lease = state.get("leases.coordination.k8s.io", "default/copier")
    return lease is not None and lease["spec"]["holderIdentity"] == change.new["data"]["by"]


def no_secret_in_use_is_deleted(state: State) -> bool:
    gone = state.deleted("secrets")
    return gone is None or state.get("configmaps", f"default/{gone.name}") is None


SCALED = Case(
    "scaled.py",
    (made("a", "scaled", size="3"), changed("a", size="2"), changed("a", size="1")),
    (
        "hide MODIFIED configmaps default/a #2 until MODIFIED configmaps default/a #3",
        "repeat everything after MODIFIED configmaps default/a #2",
    ),
)
ORPHANS = Case(
    "orphans.py",
    (made("a", "secret"),),
    ("restart at quiet moment 1 on the state of quiet moment 0",),
    (no_secret_in_use_is_deleted,),
)
LEADING = Case(
    "leading.py",
    (made("a", "copied", text="1"), changed("a", text="2")),
    ("leader change at patch configmaps default/a-copy #2",),
    (only_the_leader_writes,),
)


def command(case: Case, kind: str) -> Sequence[str]:
    return (sys.executable, str(PROGRAMS / case.program), kind)


def workloads(case: Case) -> list[Sequence[str]]:
    return [(sys.executable, str(PROGRAMS / "plain.py"), *one) for one in case.workloads]


async def explored(case: Case, kind: str) -> Report:
    commands = ExploredCommands(workloads(case), command(case, kind))
    settings = Settings(
        invariants=case.invariants, quiet_s=QUIET_S, patience_s=60, lag_s=QUIET_S / 2,
        restart_s=0.1, findings_max=100,
    )  # fmt: skip
    with TemporaryDirectory() as folder:
        async with exploring_processes(commands, settings, Path(folder)) as exploration:
            return await exploration.report(lambda plan, differs: None, case.plans)


async def explored_by_command_line(case: Case) -> tuple[int, str]:
    """The exit code and what was printed."""
    first, *others = workloads(case)
    words = ["--program", shlex.join(command(case, "buggy")), "--quiet", f"{QUIET_S}s", "--all"]
    words += [word for one in others for word in ("--then", shlex.join(one))]
    words += [word for plan in case.plans for word in ("--plan", plan)]
    proreus = (sys.executable, "-m", "proreus.cli.main", "explore")
    async with running_program(*proreus, *words, "--", *first) as running:
        return await running.wait(), running.output


async def test_bugs_of_programs_are_found_and_nothing_in_mended_ones() -> None:
    async with asyncio.timeout(DEADLINE_S), asyncio.TaskGroup() as at_once:
        printed = at_once.create_task(explored_by_command_line(SCALED))
        buggy = [at_once.create_task(explored(case, "buggy")) for case in (ORPHANS, LEADING)]
        mended = [
            at_once.create_task(explored(case, "mended")) for case in (SCALED, ORPHANS, LEADING)
        ]

    code, output = printed.result()
    assert code == 1, output
    assert all(f"Run it alone: --plan {shlex.quote(plan)}" in output for plan in SCALED.plans)
    assert "+ Secret default/a-2 should not be there" in output
    for one, case in zip(buggy, (ORPHANS, LEADING), strict=True):
        assert [str(found.plan) for found in one.result().findings] == list(case.plans)
    for one in mended:
        assert not one.result().findings, str(one.result().findings[0])
        assert one.result().run_count > 0
