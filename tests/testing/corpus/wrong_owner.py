"""An owner reference bears the uid of an object that is gone: the part will go with it."""

from __future__ import annotations

from typing import Any

from proreus.api.object import KubeObject
from proreus.api.status import NotFound
from proreus.client import Client
from proreus.client.ownership import controller_reference
from proreus.testing.explore import World
from proreus.testing.explore.faults import Crash, Delay, Fail, Hide, Repeat, Stale
from tests.testing.corpus.scaffold import THINGS, Case, Tools, by_hand, part, thing


async def _own(tools: Tools, owner: KubeObject) -> None:
    body: dict[str, Any] = part(owner.name, f"{owner.name}-part")
    body["metadata"]["ownerReferences"] = [controller_reference(owner)]
    name = body["metadata"]["name"]
    try:
        found = await tools.maps.get(name)
    except NotFound:
        await tools.maps.create(body)
        return
    if [one["uid"] for one in found.metadata.ownerReferences or ()] != [owner.uid]:
        await tools.maps.patch(name, {"metadata": body["metadata"]})


async def buggy(client: Client) -> None:
    owners: dict[str, KubeObject] = {}

    async def reconcile(tools: Tools, name: str) -> None:
        found = tools.thing(name)
        if found is None:
            owners.pop(name, None)
            return
        await _own(tools, owners.setdefault(name, found))  # "an object's identity never changes"

    await by_hand(client, reconcile, watches=())


async def mended(client: Client) -> None:
    async def reconcile(tools: Tools, name: str) -> None:
        found = tools.thing(name)
        if found is not None:
            await _own(tools, found)

    await by_hand(client, reconcile, watches=())


async def workload(world: World) -> None:
    things = world.client.resource(THINGS)("default")
    await things.create(thing("a"))
    await world.settle()
    await things.delete("a")
    await world.client.resource("configmaps")("default").delete("a-part")
    await world.settle()
    await things.create(thing("a"))
    await world.settle()


CASE = Case(buggy, mended, workload, found_by=(Hide, Delay, Repeat, Stale, Crash, Fail))
