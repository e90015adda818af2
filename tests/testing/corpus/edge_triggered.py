"""Edge-triggered logic: what was added to a size is added to the parts, once, if all goes well."""

from __future__ import annotations

import asyncio

from proreus.client import Client
from proreus.client.informer import Notification, SharedInformerFactory
from proreus.testing.explore import World
from proreus.testing.explore.faults import Crash, Fail, Hide, Repeat, Stale
from tests.testing.corpus.scaffold import (
    THINGS,
    Case,
    Tools,
    by_hand,
    ensure,
    part,
    size_of,
    thing,
)


async def buggy(client: Client) -> None:
    changes: asyncio.Queue[Notification] = asyncio.Queue()
    async with SharedInformerFactory(
        client, namespace="default", clock=client.rest.clock
    ) as informers:
        informers.informer(THINGS).add_handler(on_notification=changes.put_nowait)
        informers.start()
        tools = Tools(client, informers)
        while True:
            change = await changes.get()
            if change.new is None or change.is_initial:
                continue
            before = size_of(change.old) if change.old is not None else 0
            for number in range(before, size_of(change.new)):
                await ensure(tools.maps, part(change.new.name, f"{change.new.name}-{number}"))


async def mended(client: Client) -> None:
    async def reconcile(tools: Tools, name: str) -> None:
        found = tools.thing(name)
        if found is None:
            return
        for number in range(size_of(found)):
            await ensure(tools.maps, part(name, f"{name}-{number}"))

    await by_hand(client, reconcile, watches=())


async def workload(world: World) -> None:
    things = world.client.resource(THINGS)("default")
    await world.settle()
    await things.create(thing("a", size=1))
    await world.settle()
    await things.patch("a", {"spec": {"size": 3}})
    await world.settle()


CASE = Case(buggy, mended, workload, found_by=(Crash, Fail, Hide, Repeat, Stale))
