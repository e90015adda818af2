"""A controller trusts its cache right after its own write, and makes a second part."""

from __future__ import annotations

from proreus.client import Client
from proreus.testing.explore import World
from proreus.testing.explore.faults import Delay, Fail, Stale
from tests.testing.corpus.scaffold import Case, Tools, by_hand, part, status_of, thing


async def buggy(client: Client) -> None:
    async def reconcile(tools: Tools, name: str) -> None:
        found = tools.thing(name)
        if found is None:
            return
        if not tools.cached("configmaps", name):
            await tools.maps.create(part(name, f"{name}-"))
        if status_of(found).get("phase") != "Ready":
            await tools.things.patch_status(name, {"status": {"phase": "Ready"}})

    await by_hand(client, reconcile)


async def mended(client: Client) -> None:
    async def reconcile(tools: Tools, name: str) -> None:
        found = tools.thing(name)
        if found is None:
            return
        if not await tools.maps.list(label_selector=f"thing={name}"):
            await tools.maps.create(part(name, f"{name}-"))
        if status_of(found).get("phase") != "Ready":
            await tools.things.patch_status(name, {"status": {"phase": "Ready"}})

    await by_hand(client, reconcile)


async def workload(world: World) -> None:
    await world.client.resource("things.example.com")("default").create(thing("a"))
    await world.settle()


CASE = Case(buggy, mended, workload, found_by=(Delay, Stale, Fail))
