"""Acting on what was written, before the caches show it and after an answer was lost."""

from __future__ import annotations

import asyncio
from typing import Any

from proreus.api.object import KubeObject
from proreus.api.status import Timeout
from proreus.client.informer import SharedInformer
from proreus.cluster.controllers.own_writes import OwnWrites
from proreus.testing.virtual_clock import VirtualClock
from tests.unit.client.informer.scripted import ScriptedListWatch

KEY = "default/web"


def pod(name: str, version: int, **metadata: Any) -> KubeObject:
    content = {"name": name, "namespace": "default", "uid": name, "resourceVersion": str(version)}
    return KubeObject.from_dict({"metadata": {**content, **metadata}})


def test_what_was_deleted_is_left_out_until_the_cache_agrees() -> None:
    writes, cached = OwnWrites(), [pod("a", 1), pod("b", 2)]
    writes.deleted(KEY, cached[0])

    assert [one.name for one in writes.without_deleted(KEY, cached)] == ["b"]
    going = pod("a", 3, deletionTimestamp="2026-01-01T00:00:00Z")
    assert [one.name for one in writes.without_deleted(KEY, [going, cached[1]])] == ["a", "b"]


async def test_a_doubt_ends_with_what_the_server_shows() -> None:
    clock, writes = VirtualClock(), OwnWrites()
    pods = SharedInformer(ScriptedListWatch(), "pods", clock=clock)
    writes.mark_uncertain(KEY)
    cached = [pod("stays", 1), pod("gone", 2)]
    assert writes.is_uncertain(KEY)

    writes.resolve(KEY, pods, live=[cached[0], pod("unknown", 9)], cached=cached)

    assert not writes.is_uncertain(KEY)
    assert [one.name for one in writes.without_deleted(KEY, cached)] == ["stays"]
    # And the key waits until the cache shows the pod that nobody knew of.
    async with asyncio.TaskGroup() as group:
        waiting = group.create_task(_outcome(writes))
        await clock.advance(60)
    assert "has not reached resource version 9" in waiting.result()


async def _outcome(writes: OwnWrites) -> str:
    try:
        await writes.wait_observed(KEY)
    except Timeout as late:
        return str(late)
    return "seen"
