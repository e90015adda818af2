"""A creation that was done but not answered is done again."""

from __future__ import annotations

from proreus.client import Client
from proreus.net.client.transport_error import TransportError
from proreus.testing.explore import World
from proreus.testing.explore.faults import Fail
from tests.testing.corpus.scaffold import Case, Tools, by_hand, part, thing


async def _make(tools: Tools, name: str, *, asks_again: bool) -> None:
    if tools.thing(name) is None or await tools.maps.list(label_selector=f"thing={name}"):
        return
    try:
        await tools.maps.create(part(name, f"{name}-"))
    except TransportError:
        if asks_again:
            raise  # the next attempt begins with the list
        await tools.maps.create(part(name, f"{name}-"))


async def buggy(client: Client) -> None:
    async def reconcile(tools: Tools, name: str) -> None:
        await _make(tools, name, asks_again=False)

    await by_hand(client, reconcile, watches=())


async def mended(client: Client) -> None:
    async def reconcile(tools: Tools, name: str) -> None:
        await _make(tools, name, asks_again=True)

    await by_hand(client, reconcile, watches=())


async def workload(world: World) -> None:
    await world.client.resource("things.example.com")("default").create(thing("a"))
    await world.settle()


CASE = Case(buggy, mended, workload, found_by=(Fail,))
