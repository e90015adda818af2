"""Writing the status writes the spec too, as the cache has it: the user's change is undone."""

from __future__ import annotations

from proreus.api.json_types import JsonObject
from proreus.client import Client
from proreus.testing.explore import World
from proreus.testing.explore.faults import Delay, Hide, Stale
from tests.testing.corpus.scaffold import PLAINS, Case, Tools, by_hand, part, status_of, thing


async def _report(tools: Tools, name: str, *, guarded: bool) -> None:
    found = tools.informers.lister(PLAINS).find(name, "default")
    if found is None:
        return
    status = {"parts": len(tools.cached("configmaps", name))}
    if status_of(found) == status:
        return
    plains = tools.client.resource(PLAINS)("default")
    body: JsonObject = {**found.to_dict(), "status": status}
    if not guarded:
        # "So that there are no conflicts."
        newest = (await plains.get(name)).resource_version
        body["metadata"] = {**body["metadata"], "resourceVersion": newest}
    await plains.replace(body)


async def buggy(client: Client) -> None:
    async def reconcile(tools: Tools, name: str) -> None:
        await _report(tools, name, guarded=False)

    await by_hand(client, reconcile, primary=PLAINS)


async def mended(client: Client) -> None:
    async def reconcile(tools: Tools, name: str) -> None:
        await _report(tools, name, guarded=True)

    await by_hand(client, reconcile, primary=PLAINS)


async def workload(world: World) -> None:
    plains = world.client.resource(PLAINS)("default")
    await plains.create(thing("a", kind="Plain", size=1))
    await world.settle()
    await plains.patch("a", {"spec": {"size": 2}})
    await world.client.resource("configmaps")("default").create(part("a", "a-part"))
    await world.settle()


CASE = Case(buggy, mended, workload, found_by=(Delay, Hide, Stale))
