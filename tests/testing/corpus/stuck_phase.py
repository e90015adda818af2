"""A crash between two updates leaves a phase that nobody continues."""

from __future__ import annotations

from proreus.client import Client
from proreus.testing.explore import World
from proreus.testing.explore.faults import Crash, Fail
from tests.testing.corpus.scaffold import Case, Tools, by_hand, ensure, part, status_of, thing


async def _provision(tools: Tools, name: str, *, continues: bool) -> None:
    found = tools.thing(name)
    if found is None:
        return
    phase = status_of(found).get("phase")
    if phase == "Ready" or (phase == "Provisioning" and not continues):
        return
    if phase != "Provisioning":
        await tools.things.patch_status(name, {"status": {"phase": "Provisioning"}})
    await ensure(tools.maps, part(name, f"{name}-disk"))
    await tools.things.patch_status(name, {"status": {"phase": "Ready"}})


async def buggy(client: Client) -> None:
    async def reconcile(tools: Tools, name: str) -> None:
        await _provision(tools, name, continues=False)  # takes it for its own work in progress

    await by_hand(client, reconcile)


async def mended(client: Client) -> None:
    async def reconcile(tools: Tools, name: str) -> None:
        await _provision(tools, name, continues=True)

    await by_hand(client, reconcile)


async def workload(world: World) -> None:
    await world.client.resource("things.example.com")("default").create(thing("a"))
    await world.settle()


CASE = Case(buggy, mended, workload, found_by=(Crash, Fail))
