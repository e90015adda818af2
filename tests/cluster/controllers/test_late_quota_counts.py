"""Quotas whose controller counts with a cache that is behind."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator

import pytest

from proreus.aio.clock import SystemClock
from proreus.aio.gate import Gate
from proreus.aio.tasks import background
from proreus.api.status import Forbidden
from proreus.api.wire.framing import WatchEvent
from proreus.client.informer import SharedInformerFactory
from proreus.client.informer.factory import InformerSelection, list_watch_of
from proreus.client.reflector.list_watch import ListWatch
from proreus.client.rest.calls import WatchCall
from proreus.cluster.controllers.context import ControllerContext
from proreus.cluster.controllers.resource_quota import ResourceQuotas
from tests.cluster.controllers.stage import Stage, status_of
from tests.cluster.controllers.test_resource_quota import pod, quota, uses

CONTROLLERS: tuple[str, ...] = ()


class LateListWatch:
    """Its watches deliver nothing while ``flow`` is shut."""

    def __init__(self, source: ListWatch, flow: Gate) -> None:
        self.list = source.list
        self._source, self._flow = source, flow

    @contextlib.asynccontextmanager
    async def watch(self, asked: WatchCall) -> AsyncIterator[AsyncIterator[WatchEvent]]:
        async with self._source.watch(asked) as events:
            yield self._delayed(events)

    async def _delayed(self, events: AsyncIterator[WatchEvent]) -> AsyncIterator[WatchEvent]:
        async for event in events:
            await self._flow.wait_open()
            yield event


@contextlib.asynccontextmanager
async def late_controller(stage: Stage, flow: Gate) -> AsyncIterator[ResourceQuotas]:
    """One that hears of pods only while ``flow`` is open."""

    def source(selection: InformerSelection) -> ListWatch:
        found = list_watch_of(stage.client, selection)
        return LateListWatch(found, flow) if selection.resource == "pods" else found

    async with asyncio.TaskGroup() as parts, SharedInformerFactory(source) as informers:
        context = ControllerContext(stage.client, SystemClock(), informers, parts)
        controller = ResourceQuotas(context)
        informers.start()
        async with background(controller.run()):
            yield controller


async def test_a_first_count_misses_nothing_that_a_cache_does_not_have_yet(stage: Stage) -> None:
    quotas = stage.client.core_v1.resourcequotas("default")
    pods = stage.client.core_v1.pods("default")
    flow = Gate(is_open=True)
    async with late_controller(stage, flow):
        await quotas.create({"metadata": {"name": "other"}, "spec": {"hard": {"pods": "9"}}})
        await stage.wait(quotas, "other", uses(pods="0"))  # so the cache of pods has begun
        flow.shut()
        await pods.create(pod("a"))
        await quotas.create(quota({"pods": "2"}))

        await stage.wait(quotas, "few", lambda found: bool(status_of(found).get("hard")))
        await pods.create(pod("b"))
        with pytest.raises(Forbidden):
            await pods.create(pod("c"))
        flow.open()


async def test_what_a_cache_does_not_have_yet_is_not_given_back(stage: Stage) -> None:
    flow = Gate(is_open=True)
    quotas = stage.client.core_v1.resourcequotas("default")
    pods = stage.client.core_v1.pods("default")
    await quotas.create(quota({"pods": "1"}))
    async with late_controller(stage, flow) as controller:
        await stage.wait(quotas, "few", uses(pods="0"))
        flow.shut()
        await pods.create(pod("a"))

        # Looked at when it was charged, and again after the time that a request may take.
        counted = controller._controller.outcomes.total()
        async with asyncio.timeout(60):
            while controller._controller.outcomes.total() < counted + 2:  # noqa: ASYNC110
                await asyncio.sleep(0.02)
        with pytest.raises(Forbidden):
            await pods.create(pod("b"))

        flow.open()
        await pods.delete("a")
        await stage.wait(quotas, "few", uses(pods="0"))
