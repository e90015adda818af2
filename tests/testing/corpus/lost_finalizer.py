"""A finalizer is lost on a conflict: what is outside of the cluster outlives the thing."""

from __future__ import annotations

import contextlib

from proreus.api.status import Conflict, NotFound
from proreus.client import Client
from proreus.testing.explore import World
from proreus.testing.explore.faults import Fail, Stale
from tests.testing.corpus.scaffold import Case, Tools, by_hand, ensure, part, status_of, thing

FINALIZER = "example.com/outside"


async def _keep(tools: Tools, name: str, *, swallows: bool) -> None:
    found = tools.thing(name)
    if found is None:
        return
    finalizers = list(found.metadata.finalizers or ())
    if found.metadata.deletionTimestamp:
        if FINALIZER in finalizers:
            await _remove(tools, f"{name}-outside")
            await _write(tools, name, [one for one in finalizers if one != FINALIZER])
        return
    if status_of(found).get("phase") == "Ready":
        return
    if FINALIZER not in finalizers:
        try:
            body = found.to_dict()
            body["metadata"] = {**body["metadata"], "finalizers": [*finalizers, FINALIZER]}
            await tools.things.replace(body)
        except Conflict:
            if not swallows:
                raise
            # "Somebody else was faster; the next event brings me back."
    await ensure(tools.maps, part("", f"{name}-outside"))
    await tools.things.patch_status(name, {"status": {"phase": "Ready"}})


async def _write(tools: Tools, name: str, finalizers: list[str]) -> None:
    with contextlib.suppress(NotFound):
        await tools.things.patch(name, {"metadata": {"finalizers": finalizers}})


async def _remove(tools: Tools, name: str) -> None:
    with contextlib.suppress(NotFound):
        await tools.maps.delete(name)


async def buggy(client: Client) -> None:
    async def reconcile(tools: Tools, name: str) -> None:
        await _keep(tools, name, swallows=True)

    await by_hand(client, reconcile, watches=())


async def mended(client: Client) -> None:
    async def reconcile(tools: Tools, name: str) -> None:
        await _keep(tools, name, swallows=False)

    await by_hand(client, reconcile, watches=())


async def workload(world: World) -> None:
    things = world.client.resource("things.example.com")("default")
    await things.create(thing("a"))
    await world.settle()
    await things.delete("a")
    await world.settle()


CASE = Case(buggy, mended, workload, found_by=(Fail, Stale))
