"""A deletion and a creation under the same name are missed: the new object is taken for the old."""

from __future__ import annotations

from proreus.client import Client
from proreus.testing.explore import World
from proreus.testing.explore.faults import Delay, Hide
from tests.testing.corpus.scaffold import Case, Tools, by_hand, size_of, thing


async def _publish(tools: Tools, name: str, done: dict[str, str], *, by_uid: bool) -> None:
    found = tools.thing(name)
    if found is None:
        done.pop(name, None)
        return
    known = done.get(name)
    if known is not None and (not by_uid or known == found.uid):
        return  # a thing never changes: it is deleted and made again
    body = {"data": {"size": str(size_of(found))}, "metadata": {"name": f"{name}-config"}}
    await tools.maps.apply({"apiVersion": "v1", "kind": "ConfigMap", **body}, force=True)
    done[name] = found.uid


async def buggy(client: Client) -> None:
    done: dict[str, str] = {}

    async def reconcile(tools: Tools, name: str) -> None:
        await _publish(tools, name, done, by_uid=False)

    await by_hand(client, reconcile, watches=())


async def mended(client: Client) -> None:
    done: dict[str, str] = {}

    async def reconcile(tools: Tools, name: str) -> None:
        await _publish(tools, name, done, by_uid=True)

    await by_hand(client, reconcile, watches=())


async def workload(world: World) -> None:
    things = world.client.resource("things.example.com")("default")
    await things.create(thing("a", size=1))
    await world.settle()
    await things.delete("a")
    await world.settle()
    await things.create(thing("a", size=2))
    await world.settle()


CASE = Case(buggy, mended, workload, found_by=(Hide, Delay))
