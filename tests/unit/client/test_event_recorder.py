"""Event recorder: what is written, combined, counted, dropped; and that it never blocks."""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import AsyncIterator
from typing import Any

import pytest

from proreus.aio.tasks import background
from proreus.api.group_version import GroupResource
from proreus.api.object import KubeObject
from proreus.api.status import AlreadyExists, Forbidden, NotFound
from proreus.client.credentials import CredentialError
from proreus.client.event_recorder import FLUSH_S, WRITERS, EventRecorder
from proreus.net.client.transport_error import ConnectionRefused
from proreus.testing.virtual_clock import VirtualClock

POD = KubeObject.from_dict(
    {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "web", "namespace": "shop", "uid": "u", "resourceVersion": "7"},
    }
)
REFUSED = ConnectionRefused("https://x", "refused")


class MemoryEvents:
    """The events resource: keeps what is written, fails on demand."""

    def __init__(self) -> None:
        self.stored: dict[str, dict[str, Any]] = {}
        self.failures: list[Exception] = []
        self.attempts = 0
        self.namespaces: list[str] = []

    def __call__(self, namespace: str, /) -> MemoryEvents:
        self.namespaces.append(namespace)
        return self

    async def create(self, body: dict[str, Any], /) -> KubeObject:
        self._attempt()
        self.stored[body["metadata"]["name"]] = body
        return KubeObject.from_dict(body)

    async def patch(self, name: str, patch: dict[str, Any], /, *, type: str) -> KubeObject:  # noqa: A002
        self._attempt()
        assert type == "strategic"
        if name not in self.stored:
            raise NotFound.of(GroupResource("", "events"), name)
        self.stored[name] |= patch
        return KubeObject.from_dict(self.stored[name])

    def _attempt(self) -> None:
        self.attempts += 1
        if self.failures:
            raise self.failures.pop(0)

    @property
    def recorded(self) -> list[tuple[str, int]]:
        return [(event["message"], event["count"]) for event in self.stored.values()]


class Bench:
    def __init__(self) -> None:
        self.clock = VirtualClock()
        self.events = MemoryEvents()
        self.recorder = EventRecorder(
            self.events,
            "operator",
            instance="host-1",
            clock=self.clock,
            randomness=random.Random(7),
        )


@pytest.fixture
async def bench() -> AsyncIterator[Bench]:
    bench = Bench()
    task = asyncio.ensure_future(bench.recorder.run())
    yield bench
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task


async def test_an_event_says_what_happened_to_which_object(bench: Bench) -> None:
    bench.recorder.event(POD, "Warning", "FailedMount", "no volume", annotations={"a": "b"})
    await bench.clock.settle()

    (event,) = bench.events.stored.values()
    name = event["metadata"].pop("name")
    assert name.startswith("web.")
    assert event == {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"namespace": "shop", "annotations": {"a": "b"}},
        "involvedObject": {
            "apiVersion": "v1",
            "kind": "Pod",
            "namespace": "shop",
            "name": "web",
            "uid": "u",
            "resourceVersion": "7",
        },
        "type": "Warning",
        "reason": "FailedMount",
        "message": "no volume",
        "firstTimestamp": "2026-01-01T00:00:00Z",
        "lastTimestamp": "2026-01-01T00:00:00Z",
        "eventTime": None,
        "count": 1,
        "source": {"component": "operator", "host": "host-1"},
        "reportingComponent": "operator",
        "reportingInstance": "host-1",
    }


async def test_an_object_in_no_namespace_has_its_events_in_the_default_one(bench: Bench) -> None:
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}}
    bench.recorder.event(node, "Normal", "Ready", "up")
    await bench.clock.settle()

    assert bench.events.namespaces == ["default"]


async def test_an_event_outlives_a_credential_that_cannot_be_had(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    bench.events.failures = [CredentialError("plugin: exit code 1")]
    bench.recorder.event(POD, "Normal", "Pulled", "image is here")
    await bench.clock.advance(15)

    assert bench.recorder.written_count == 1
    assert not any(record.exc_info for record in caplog.records)


async def test_a_repeated_event_is_counted_not_written_again(bench: Bench) -> None:
    for _ in range(3):
        bench.recorder.event(POD, "Normal", "Pulled", "image is here")
        await bench.clock.advance(5)

    (event,) = bench.events.stored.values()
    assert (event["count"], event["firstTimestamp"]) == (3, "2026-01-01T00:00:00Z")
    assert event["lastTimestamp"] == "2026-01-01T00:00:10Z"


async def test_a_counted_event_that_the_server_forgot_is_written_anew(bench: Bench) -> None:
    bench.recorder.event(POD, "Normal", "Pulled", "image is here")
    await bench.clock.settle()
    bench.events.stored.clear()
    for _ in range(2):
        bench.recorder.event(POD, "Normal", "Pulled", "image is here")
        await bench.clock.settle()

    assert bench.events.recorded == [("image is here", 2)]


async def test_many_similar_events_are_combined(bench: Bench) -> None:
    for n in range(15):
        bench.recorder.event(POD, "Normal", "Probe", f"took {n} ms")
    await bench.clock.settle()

    combined = [(m, n) for m, n in bench.events.recorded if m.startswith("(combined from similar")]
    assert len(bench.events.recorded) == 10, "nine of their own and one for the rest"
    assert combined == [("(combined from similar events): took 14 ms", 6)]


async def test_a_flood_about_one_object_is_dropped_and_others_are_not(bench: Bench) -> None:
    for _ in range(40):
        bench.recorder.event(POD, "Normal", "Pulled", "image is here")
    other = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}}
    bench.recorder.event(other, "Normal", "Ready", "up")
    await bench.clock.settle()
    during_flood = (bench.recorder.written_count, bench.recorder.dropped_count)
    await bench.clock.advance(301)
    bench.recorder.event(POD, "Normal", "Pulled", "image is here")
    await bench.clock.settle()

    assert during_flood == (26, 15)
    assert bench.recorder.written_count == 27


async def test_a_server_that_does_not_answer_is_asked_again(bench: Bench) -> None:
    bench.events.failures = [REFUSED, REFUSED]
    bench.recorder.event(POD, "Normal", "Pulled", "image is here")
    await bench.clock.advance(25)

    assert (bench.events.attempts, bench.recorder.written_count) == (3, 1)


async def test_a_server_that_refuses_is_believed(bench: Bench) -> None:
    bench.events.failures = [Forbidden("namespace is being terminated")]
    bench.recorder.event(POD, "Normal", "Pulled", "image is here")
    await bench.clock.advance(60)

    assert (bench.events.attempts, bench.recorder.dropped_count) == (1, 1)


async def test_what_an_ending_namespace_refuses_is_no_warning(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    causes = {"causes": [{"reason": "NamespaceTerminating"}]}
    bench.events.failures = [Forbidden("it ends", details=causes), Forbidden("not yours")]

    with caplog.at_level("INFO", "proreus.client.event_recorder"):
        bench.recorder.event(POD, "Normal", "Pulled", "image is here")
        bench.recorder.event(POD, "Normal", "Started", "it runs")
        await bench.clock.advance(60)

    assert [one.levelname for one in caplog.records] == ["INFO", "WARNING"]


async def test_after_twelve_tries_it_gives_up(bench: Bench) -> None:
    bench.events.failures = [REFUSED] * 20
    bench.recorder.event(POD, "Normal", "Pulled", "image is here")
    await bench.clock.advance(200)

    assert (bench.events.attempts, bench.recorder.dropped_count) == (12, 1)


async def test_recording_never_blocks_and_drops_when_too_many_wait() -> None:
    bench = Bench()
    for number in range(1005):
        bench.recorder.event(pod(f"pod-{number}"), "Normal", "Pulled", "image is here")

    assert bench.recorder.dropped_count == 5
    assert repr(bench.recorder) == "<EventRecorder operator, 1000 waiting>"


async def test_what_waits_at_the_end_is_still_written() -> None:
    bench = Bench()
    task = asyncio.ensure_future(bench.recorder.run())
    await bench.clock.settle()
    bench.recorder.event(POD, "Normal", "Stopping", "bye")
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    assert bench.events.recorded == [("bye", 1)]


@pytest.mark.parametrize("has_arrived", [False, True])
async def test_what_is_being_written_at_the_end_is_written_once(has_arrived: bool) -> None:
    bench, stuck = Bench(), asyncio.Event()
    create = bench.events.create

    async def create_slowly(body: dict[str, Any], /) -> KubeObject:
        if body["metadata"]["name"] in bench.events.stored:
            raise AlreadyExists.of(GroupResource("", "events"), body["metadata"]["name"])
        if stuck.is_set():
            return await create(body)
        stuck.set()
        if has_arrived:
            await create(body)
        await asyncio.Event().wait()
        raise AssertionError("it waits for ever")

    bench.events.create = create_slowly  # type: ignore[method-assign]
    task = asyncio.ensure_future(bench.recorder.run())
    bench.recorder.event(POD, "Normal", "Stopping", "bye")
    await stuck.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    assert bench.events.recorded == [("bye", 1)]
    assert (bench.recorder.written_count, bench.recorder.dropped_count) == (1, 0)


async def test_an_unknown_type_is_refused_at_once(bench: Bench) -> None:
    with pytest.raises(ValueError, match="Normal or Warning, not 'Error'"):
        bench.recorder.event(POD, "Error", "X", "y")


def pod(name: str) -> KubeObject:
    metadata = {"name": name, "namespace": "shop", "uid": name}
    return KubeObject.from_dict({"apiVersion": "v1", "kind": "Pod", "metadata": metadata})


class SlowEvents(MemoryEvents):
    """Every write waits until it is let through."""

    def __init__(self) -> None:
        super().__init__()
        self.gate = asyncio.Event()
        self.under_way = 0
        self.most_at_once = 0
        self.order: list[str] = []

    async def create(self, body: dict[str, Any], /) -> KubeObject:
        self.under_way += 1
        self.most_at_once = max(self.under_way, self.most_at_once)
        await self.gate.wait()
        self.under_way -= 1
        self.order.append(f"{body['involvedObject']['name']} {body['message']}")
        return await super().create(body)


async def test_a_flood_about_one_object_keeps_no_others_out() -> None:
    recorder = EventRecorder(MemoryEvents(), "test", clock=VirtualClock())

    for number in range(2_000):
        recorder.event(POD, "Normal", "Pulled", f"image {number}")
    recorder.event(pod("other"), "Normal", "Started", "now")

    assert recorder.waiting_count == 26  # what the spam filter lets through, and the other's


async def test_events_of_several_objects_are_written_at_once_within_a_bound() -> None:
    clock, events = VirtualClock(), SlowEvents()
    recorder = EventRecorder(events, "test", clock=clock)

    async with background(recorder.run()):
        for number in range(100):
            recorder.event(pod(f"pod-{number}"), "Normal", "Started", "now")
        await clock.settle()
        events.gate.set()
        await clock.settle()

    assert len(events.stored) == 100
    assert events.most_at_once == WRITERS


async def test_events_of_one_object_are_written_in_their_order() -> None:
    clock, events = VirtualClock(), SlowEvents()
    recorder = EventRecorder(events, "test", clock=clock)

    async with background(recorder.run()):
        for number in range(5):
            for name in ("a", "b", "c"):
                recorder.event(pod(name), "Normal", f"Step{number}", f"step {number}")
        await clock.settle()
        events.gate.set()
        await clock.settle()

    for name in ("a", "b", "c"):
        recorded = [line for line in events.order if line.startswith(name)]
        assert recorded == [f"{name} step {number}" for number in range(5)]


async def test_the_end_waits_only_a_moment_for_a_server_that_does_not_answer() -> None:
    clock, events = VirtualClock(), SlowEvents()
    recorder = EventRecorder(events, "test", clock=clock)
    recorder.event(POD, "Normal", "Started", "now")

    async with asyncio.TaskGroup() as group:
        running = group.create_task(recorder.run())
        await clock.settle()
        running.cancel()
        await clock.advance(FLUSH_S)

    assert running.cancelled()


class BusyEvents(MemoryEvents):
    """A server that takes a while for each."""

    def __init__(self, clock: VirtualClock, takes_s: float) -> None:
        super().__init__()
        self._clock, self._takes_s = clock, takes_s

    async def create(self, body: dict[str, Any], /) -> KubeObject:
        await self._clock.sleep(self._takes_s)
        return await super().create(body)


async def test_events_take_a_quarter_of_the_time_of_a_server_that_is_busy() -> None:
    clock = VirtualClock()
    events = BusyEvents(clock, takes_s=0.1)
    recorder = EventRecorder(events, "test", clock=clock, writers=1)
    for name in ("a", "b", "c"):
        recorder.event(pod(name), "Normal", "Started", "now")

    async with asyncio.TaskGroup() as group:
        running = group.create_task(recorder.run())
        await clock.advance(0.15)
        after_one_write = len(events.stored)
        await clock.advance(0.3)
        after_its_rest = len(events.stored)
        await clock.advance(0.1)
        after_another = len(events.stored)
        running.cancel()
        await clock.advance(FLUSH_S)

    assert (after_one_write, after_its_rest, after_another) == (1, 1, 2)


async def test_recorders_that_share_turns_take_them_one_after_the_other() -> None:
    clock = VirtualClock()
    events = BusyEvents(clock, takes_s=0.1)
    turns = asyncio.Semaphore(1)
    recorders = [EventRecorder(events, name, clock=clock, turns=turns) for name in ("a", "b")]
    for recorder in recorders:
        recorder.event(pod("web"), "Normal", "Started", "now")

    async with asyncio.TaskGroup() as group:
        running = [group.create_task(recorder.run()) for recorder in recorders]
        await clock.advance(0.35)
        after_one_write = [recorder.written_count for recorder in recorders]
        await clock.advance(0.2)
        after_its_rest = [recorder.written_count for recorder in recorders]
        for task in running:
            task.cancel()
        await clock.advance(FLUSH_S)

    assert (after_one_write, after_its_rest) == ([1, 0], [1, 1])


async def test_what_waits_for_a_turn_at_the_end_is_written_once() -> None:
    clock, events, turns = VirtualClock(), MemoryEvents(), asyncio.Semaphore(0)
    recorder = EventRecorder(events, "test", clock=clock, turns=turns)
    recorder.event(POD, "Normal", "Started", "now")

    async with asyncio.TaskGroup() as group:
        running = group.create_task(recorder.run())
        await clock.settle()
        assert not events.stored
        running.cancel()
        await clock.advance(FLUSH_S)

    assert events.recorded == [("now", 1)]
    assert events.attempts == 1


async def test_what_waits_at_the_end_is_written_without_rest() -> None:
    clock = VirtualClock()
    events = BusyEvents(clock, takes_s=0.1)
    recorder = EventRecorder(events, "test", clock=clock, writers=1)
    for number in range(5):
        recorder.event(pod(f"pod-{number}"), "Normal", "Started", "now")

    async with asyncio.TaskGroup() as group:
        running = group.create_task(recorder.run())
        await clock.advance(0.1)
        running.cancel()
        await clock.advance(0.45)

    assert len(events.stored) == 5
