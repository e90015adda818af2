"""A CancelledError that user code lets escape, though nobody cancelled it, is a failure."""

from __future__ import annotations

import asyncio
import logging
import random

import pytest

from proreus.api.object import KubeObject
from proreus.api.object_list import ObjectList
from proreus.client.controller import Controller, Request
from proreus.client.event_recorder import EventRecorder
from proreus.client.informer import Notification, SharedInformer
from proreus.client.leader_election import LeaderElector, LeaseLock
from proreus.testing.virtual_clock import VirtualClock
from tests.unit.client.controller.test_controller import World, thing
from tests.unit.client.informer.harness import LISTS, informer_of, running
from tests.unit.client.informer.scripted import ScriptedListWatch, Stream, added, page, pod
from tests.unit.client.leader_election.test_election import MemoryLeases
from tests.unit.client.test_event_recorder import POD, MemoryEvents


async def await_a_cancelled_task() -> None:
    """What user code does by mistake: end a task of its own and wait for it."""
    task = asyncio.ensure_future(asyncio.Event().wait())
    task.cancel()
    await task


async def test_a_reconcile_that_lets_a_cancelled_error_escape_is_logged_and_tried_again(
    caplog: pytest.LogCaptureFixture,
) -> None:
    world = World()
    calls: list[str] = []

    async def reconcile(request: Request) -> None:
        calls.append(request.key)
        if len(calls) == 1:
            await await_a_cancelled_task()

    primary = world.informer("widgets", thing("Widget", "a", 1))
    controller = Controller(reconcile, primary)
    async with world.running(controller):
        await world.clock.advance(10)
        await world.changed("widgets", "MODIFIED", thing("Widget", "a", 101))

        assert calls == ["default/a"] * 3
        assert controller.outcomes == {"error": 1, "success": 2}
    assert "reconcile failed: controller=widgets key=default/a" in caplog.text


async def test_a_reconcile_under_way_ends_when_its_controller_is_cancelled_for_good() -> None:
    world = World()
    ended: list[str] = []

    async def reconcile(request: Request) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(request.key)

    primary = world.informer("widgets", thing("Widget", "a", 1))
    controller = Controller(reconcile, primary)
    async with world.running():
        task = asyncio.ensure_future(controller.run())
        await world.clock.settle()
        task.cancel()
        await world.clock.advance(31)

        assert task.cancelled()
        assert ended == ["default/a"]
        assert controller.outcomes == {}


@pytest.mark.parametrize("is_async", [False, True])
async def test_a_handler_that_lets_a_cancelled_error_escape_hears_of_the_next_object(
    is_async: bool, caplog: pytest.LogCaptureFixture
) -> None:
    heard: list[str] = []

    async def slow(obj: KubeObject) -> None:
        heard.append(obj.name)
        await await_a_cancelled_task()

    def quick(obj: KubeObject) -> None:
        heard.append(obj.name)
        raise asyncio.CancelledError

    stream = Stream()
    bench = informer_of(page(pod("a", 1), version=1), stream)
    handler = bench.informer.add_handler(slow if is_async else quick)
    async with running(bench):
        stream.send(added("b", 2))
        await bench.settle()

        assert heard == ["a", "b"]
        assert handler.failure_count == 2
    assert "user code failed: role=handler" in caplog.text


async def test_a_transform_and_an_index_that_raise_cancelled_error_do_not_stop_the_cache() -> None:
    def cancelled(_: KubeObject) -> KubeObject:
        raise asyncio.CancelledError

    def index(_: KubeObject) -> list[str]:
        raise asyncio.CancelledError

    stream = Stream()
    bench = informer_of(page(pod("a", 1), version=1), stream, transform=cancelled)
    bench.informer.add_indexes({"broken": index})
    async with running(bench):
        stream.send(added("b", 2))
        await bench.settle()

        assert [obj.name for obj in bench.informer.lister.list()] == ["a", "b"]


async def test_a_list_that_raises_cancelled_error_is_tried_again(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Broken(ScriptedListWatch):
        is_broken = True

        async def _answer(self) -> ObjectList | Stream:
            if self.is_broken:
                self.is_broken = False
                await await_a_cancelled_task()
            return await super()._answer()

    clock = VirtualClock()
    informer = SharedInformer(
        Broken(page(pod("a", 1), version=1), Stream()),
        "pods",
        config=LISTS,
        clock=clock,
        randomness=random.Random(7),
    )
    task = asyncio.ensure_future(informer.run())
    await clock.advance(5)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)

    assert informer.has_synced
    assert "part died, restarting" in caplog.text


async def test_a_predicate_that_raises_cancelled_error_does_not_drop_the_event() -> None:
    world = World()
    calls: list[str] = []

    async def reconcile(request: Request) -> None:
        calls.append(request.key)

    def predicate(_: Notification) -> bool:
        raise asyncio.CancelledError

    primary = world.informer("widgets", thing("Widget", "a", 1))
    async with world.running(Controller(reconcile, primary, when=predicate)):
        assert calls == ["default/a"]


async def test_a_workload_that_lets_a_cancelled_error_escape_raises_an_error() -> None:
    leases = MemoryLeases()
    elector = LeaderElector(LeaseLock(leases, "default", "x"), "one", clock=VirtualClock())

    async def workload() -> None:
        await await_a_cancelled_task()

    with pytest.raises(RuntimeError, match="not cancelled"):
        await elector.run(workload)

    assert leases.record.holder == ""


@pytest.mark.parametrize("failure", [ValueError("no"), asyncio.CancelledError()])
async def test_a_callback_of_the_elector_that_raises_costs_no_leadership(
    failure: BaseException, caplog: pytest.LogCaptureFixture
) -> None:
    def fails(_: str) -> None:
        raise failure

    worked: list[str] = []
    elector = LeaderElector(
        LeaseLock(MemoryLeases(), "default", "x"),
        "one",
        on_new_leader=fails,
        clock=VirtualClock(),
    )

    async def workload() -> None:
        worked.append("yes")

    await elector.run(workload)

    assert worked == ["yes"]
    assert "user code failed: role=on_new_leader" in caplog.text


async def test_an_event_whose_writing_raises_cancelled_error_does_not_end_its_writer(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Broken(MemoryEvents):
        async def create(self, body: dict[str, object], /) -> KubeObject:
            if not self.attempts:
                self.attempts += 1
                await await_a_cancelled_task()
            return await super().create(body)

    caplog.set_level(logging.WARNING)
    clock, events = VirtualClock(), Broken()
    recorder = EventRecorder(events, "me", clock=clock, randomness=random.Random(7))
    task = asyncio.ensure_future(recorder.run())
    recorder.event(POD, "Normal", "First", "one")
    recorder.event(POD, "Normal", "Second", "two")
    await clock.advance(30)

    assert recorder.written_count == 2
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert task.cancelled()
