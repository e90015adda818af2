"""The status says that all is done before it is: the work that was left in memory is lost."""

from __future__ import annotations

from proreus.client import Client
from proreus.testing.explore import World
from proreus.testing.explore.faults import Crash, Fail, Stale
from tests.testing.corpus.scaffold import THINGS, Case, Tools, by_hand, part, status_of, thing

MEMBERS = 3


async def _roll(tools: Tools, name: str, *, says_it_first: bool) -> None:
    found = tools.thing(name)
    if found is None:
        return
    version = str(found.spec.version)
    if status_of(found).get("version") == version:
        return
    if says_it_first:
        await tools.things.patch_status(name, {"status": {"version": version}})
    for number in range(MEMBERS):
        body = part(name, f"{name}-{number}", version=version)
        await tools.maps.apply(body, force=True)
    if not says_it_first:
        await tools.things.patch_status(name, {"status": {"version": version}})


async def buggy(client: Client) -> None:
    async def reconcile(tools: Tools, name: str) -> None:
        await _roll(tools, name, says_it_first=True)

    await by_hand(client, reconcile, watches=())


async def mended(client: Client) -> None:
    async def reconcile(tools: Tools, name: str) -> None:
        await _roll(tools, name, says_it_first=False)

    await by_hand(client, reconcile, watches=())


async def workload(world: World) -> None:
    things = world.client.resource(THINGS)("default")
    await things.create(thing("a", version="1"))
    await world.settle()
    await things.patch("a", {"spec": {"version": "2"}})
    await world.settle()


CASE = Case(buggy, mended, workload, found_by=(Crash, Fail, Stale))
