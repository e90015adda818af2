"""Nodes of one process share the watches of what their pods refer to."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from proreus.aio.clock import SystemClock
from proreus.client import Client
from proreus.cluster.kubelet.runtimes.pod_spec.references import Reference
from proreus.cluster.kubelet.runtimes.watched_objects import ObjectWatches, WatchedObjects

SETTINGS = frozenset({Reference("configmap", "settings")})


class Node:
    """A node with one pod, which is told of changes."""

    def __init__(self, client: Client, group: asyncio.TaskGroup, watches: ObjectWatches) -> None:
        self.objects = WatchedObjects(client, SystemClock(), group, watches)
        self._told = asyncio.Event()

    def use(self, pod: str = "pod") -> None:
        self.objects.use(pod, "default", SETTINGS, self._told.set)

    async def wait_value(self, wanted: str) -> None:
        """Until it was told, and then finds that ``wanted`` is stored."""
        async with asyncio.timeout(60):
            while True:
                await self._told.wait()
                self._told.clear()
                found = self.objects.read_nowait("default", SETTINGS) or {}
                if [one.data.value for one in found.values()] == [wanted]:
                    return


@asynccontextmanager
async def node(client: Client, watches: ObjectWatches) -> AsyncIterator[Node]:
    async with asyncio.TaskGroup() as group:
        made = Node(client, group, watches)
        try:
            yield made
        finally:
            made.objects.close()


async def store(client: Client, value: str) -> None:
    config_map = {"metadata": {"name": "settings"}, "data": {"value": value}}
    await client.core_v1.configmaps("default").apply(config_map)


async def test_two_nodes_have_one_watch_and_both_learn_of_changes(client: Client) -> None:
    watches = ObjectWatches()
    async with node(client, watches) as first, node(client, watches) as second:
        first.use()
        second.use()
        assert len(watches.by_object) == 1

        await store(client, "a")

        await first.wait_value("a")
        await second.wait_value("a")


async def test_a_node_that_needs_it_no_more_leaves_the_watch_to_the_other(client: Client) -> None:
    watches = ObjectWatches()
    async with node(client, watches) as first, node(client, watches) as second:
        first.use()
        second.use()
        await store(client, "a")
        await second.wait_value("a")

        first.objects.release("pod")
        await store(client, "b")
        await second.wait_value("b")

        second.objects.release("pod")
        assert not watches.by_object


async def test_a_node_keeps_the_watch_until_its_last_pod_is_gone(client: Client) -> None:
    watches = ObjectWatches()
    async with node(client, watches) as first, node(client, watches) as second:
        first.use("one")
        first.use("two")
        second.use()
        [watched] = watches.by_object.values()

        first.objects.release("one")
        assert list(watches.by_object.values()) == [watched]
        first.objects.release("two")
        [passed_on] = watches.by_object.values()
        second.objects.release("pod")

        assert (watched.holder, passed_on.holder) == (first.objects, second.objects)
        assert not watches.by_object


async def test_a_node_that_ends_leaves_the_watch_to_one_that_stays(client: Client) -> None:
    watches = ObjectWatches()
    async with asyncio.TaskGroup() as over:
        pass  # it takes no more tasks
    ending = Node(client, over, watches)
    async with node(client, watches) as stays:
        async with node(client, watches) as first:
            first.use()
            ending.use()
            stays.use()

        await store(client, "a")
        await stays.wait_value("a")
