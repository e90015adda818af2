"""A name is drawn anew at each attempt: a retry makes a second part."""

from __future__ import annotations

import secrets

from proreus.client import Client
from proreus.testing.explore import World
from proreus.testing.explore.faults import Crash, Delay, Fail, Stale
from tests.testing.corpus.scaffold import Case, Tools, by_hand, ensure, part, status_of, thing


async def buggy(client: Client) -> None:
    async def reconcile(tools: Tools, name: str) -> None:
        found = tools.thing(name)
        if found is None or status_of(found).get("part"):
            return
        chosen = f"{name}-{secrets.token_hex(4)}"
        await tools.maps.create(part(name, chosen))
        await tools.things.patch_status(name, {"status": {"part": chosen}})

    await by_hand(client, reconcile, watches=())


async def mended(client: Client) -> None:
    async def reconcile(tools: Tools, name: str) -> None:
        found = tools.thing(name)
        if found is None or status_of(found).get("part"):
            return
        chosen = f"{name}-{found.uid[:8]}"
        await ensure(tools.maps, part(name, chosen))
        await tools.things.patch_status(name, {"status": {"part": chosen}})

    await by_hand(client, reconcile, watches=())


async def workload(world: World) -> None:
    await world.client.resource("things.example.com")("default").create(thing("a"))
    await world.settle()


CASE = Case(buggy, mended, workload, found_by=(Crash, Fail, Stale, Delay))
