"""Scaling down leaks volumes when a size in between is not observed."""

from __future__ import annotations

from proreus.client import Client
from proreus.testing.explore import World
from proreus.testing.explore.faults import Crash, Delay, Hide, Stale
from tests.testing.corpus.scaffold import Case, Tools, by_hand, ensure, part, size_of, thing


def _numbers(found: list[str], prefix: str) -> list[int]:
    return sorted(int(name.removeprefix(prefix)) for name in found if name.startswith(prefix))


async def _scale(tools: Tools, name: str, *, one_by_one: bool) -> None:
    found = tools.thing(name)
    if found is None:
        return
    size = size_of(found)
    for number in range(size):
        await ensure(tools.maps, part(name, f"{name}-volume-{number}"))
        await ensure(tools.maps, part(name, f"{name}-member-{number}"))
    names = [one.name for one in await tools.maps.list(label_selector=f"thing={name}")]
    members, volumes = _numbers(names, f"{name}-member-"), _numbers(names, f"{name}-volume-")
    surplus = [number for number in members if number >= size]
    if one_by_one:
        # Written for sizes that go down by one: the volume of the last member.
        volumes = [size] if surplus == [size] else []
    for number in [number for number in volumes if number >= size]:
        await tools.maps.delete(f"{name}-volume-{number}")
    for number in surplus:
        await tools.maps.delete(f"{name}-member-{number}")


async def buggy(client: Client) -> None:
    async def reconcile(tools: Tools, name: str) -> None:
        await _scale(tools, name, one_by_one=True)

    await by_hand(client, reconcile, watches=())


async def mended(client: Client) -> None:
    async def reconcile(tools: Tools, name: str) -> None:
        await _scale(tools, name, one_by_one=False)

    await by_hand(client, reconcile, watches=())


async def workload(world: World) -> None:
    things = world.client.resource("things.example.com")("default")
    await things.create(thing("a", size=3))
    await world.settle()
    for size in (2, 1):
        await things.patch("a", {"spec": {"size": size}})
        await world.settle()


CASE = Case(buggy, mended, workload, found_by=(Hide, Crash, Delay, Stale))
