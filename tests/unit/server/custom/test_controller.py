"""The controller of definitions, where the server's other work is in its way."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from proreus.aio.clock import SystemClock
from proreus.aio.tasks import background
from proreus.api.wire import splice
from proreus.server.custom.conversion.conversions import Conversions
from proreus.server.custom.definition import conditions
from proreus.server.custom.parts import CustomResources
from proreus.server.custom.serving.openapi import PublishedSchemas
from proreus.server.key_queue import KeyQueues
from proreus.server.kinds import builtin_resources
from proreus.server.offload import Lane, open_offload
from proreus.server.prometheus import CollectorRegistry
from proreus.server.registry.catalog import Catalog
from proreus.server.registry.collection import Collection
from proreus.server.registry.collections import Collections
from proreus.server.registry.kinds import KnownKinds
from proreus.server.storage.memory import MemoryStorage
from proreus.server.storage.resource_stores import ResourceStores
from proreus.server.watch_cache.caches import WatchCaches
from proreus.testing.virtual_clock import VirtualClock
from tests.custom.definitions import definition, version

NAME = "widgets.example.com"


async def test_a_definition_is_checked_once_the_lane_has_room() -> None:
    clock, free = VirtualClock(), threading.Event()
    catalog = Catalog(builtin_resources())
    async with open_offload() as offload, MemoryStorage.open(SystemClock()) as storage:
        offload.definitions = Lane("definitions", 1, queued_max=0)
        caches, known = WatchCaches(storage, SystemClock()), KnownKinds(catalog)
        conversions = Conversions(lambda obj, to: obj)
        collections = Collections(ResourceStores(storage), caches, known, conversions.convert)
        collections.serve_all(catalog)
        definitions = collections.named("apiextensions.k8s.io", "v1", "customresourcedefinitions")
        custom = CustomResources(
            catalog, collections, conversions, clock, schemas=PublishedSchemas(),
            forget_views=lambda resource: None, offload=offload,
            queues=KeyQueues(CollectorRegistry(), clock),
        )  # fmt: skip
        async with background(storage.run(), caches.run()):
            await caches.wait_ready()
            await definitions.store.create(NAME, not_structural(), None)
            with set_in_the_end(free):
                other = asyncio.ensure_future(offload.definitions.run(free.wait))
                await clock.settle()
                async with background(custom.run()):
                    await until(lambda: clock.timer_count > 0)
                    before = has_faults(definitions)
                    free.set()
                    await other
                    async with asyncio.timeout(60):
                        while not has_faults(definitions):
                            await clock.advance(1)

    assert not before


@contextmanager
def set_in_the_end(event: threading.Event) -> Iterator[None]:
    """A thread that waits for it would never end."""
    try:
        yield
    finally:
        event.set()


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(60):
        while not holds():  # noqa: ASYNC110
            await asyncio.sleep(0)


def not_structural() -> bytes:
    """Written by another program: validation would have refused it."""
    obj = definition(version())
    obj["spec"]["preserveUnknownFields"] = True
    obj["metadata"] |= {"uid": "1", "generation": 1}
    return splice.stored_from_object(obj)


def has_faults(definitions: Collection) -> bool:
    found = definitions.cache.peek(NAME)
    obj: dict[str, Any] = {} if found is None else splice.decode_item(found.item)
    return conditions.is_true(obj, conditions.NON_STRUCTURAL)
