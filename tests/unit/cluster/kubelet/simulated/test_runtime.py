"""A simulated container has a log to show, and nothing else to reach."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from proreus.api.object import KubeObject
from proreus.client.event_recorder import EventRecorder
from proreus.cluster.kubelet.runtimes.runtime import PodAddresses
from proreus.cluster.kubelet.runtimes.simulated.runtime import SimulatedRuntime
from proreus.cluster.kubelet.runtimes.streams import (
    ContainerNotFound,
    LogOptions,
    NotStarted,
    PreviousNotFound,
    Unsupported,
)
from proreus.testing.virtual_clock import VirtualClock


def pod(**annotations: str) -> KubeObject:
    said = {f"proreus.dev/{key.replace('_', '-')}": value for key, value in annotations.items()}
    return KubeObject.from_dict(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "p", "namespace": "d", "uid": "u", "annotations": said},
            "spec": {"containers": [{"name": "c", "image": "i"}]},
        }
    )


def started(clock: VirtualClock, **annotations: str) -> SimulatedRuntime:
    recorder = EventRecorder(lambda namespace: pytest.fail("no event is written"), "test")
    runtime = SimulatedRuntime(clock, recorder)
    running = runtime.begin(pod(**annotations), PodAddresses("1", "2"), clock.now())
    running.advance(clock.now())
    return runtime


async def log(runtime: SimulatedRuntime, **options: Any) -> str:
    pieces = runtime.streams.logs("u", "c", LogOptions(**options))
    return b"".join([piece async for piece in pieces]).decode()


async def test_a_container_says_when_it_started_and_ended() -> None:
    clock = VirtualClock()

    assert await log(started(clock)) == "simulated container c started\n"
    crashing = started(clock, exit_after="0s", exit_code="3")
    assert await log(crashing, previous=True) == (
        "simulated container c started\nsimulated container c exited with code 3\n"
    )
    assert await log(crashing, previous=True, tail_lines=1, limit_bytes=9) == "simulated"
    assert await log(crashing, previous=True, since=clock.now() + 1) == ""
    assert await log(crashing, previous=True, stream="Stderr") == ""
    stamped = await log(started(clock), timestamps=True)
    assert stamped == "2026-01-01T00:00:00Z simulated container c started\n"


async def test_a_log_that_is_not_there_is_an_error() -> None:
    clock = VirtualClock()

    with pytest.raises(PreviousNotFound):
        await log(started(clock), previous=True)
    with pytest.raises(NotStarted):
        await log(started(clock, start_delay="1h"))
    with pytest.raises(ContainerNotFound):
        await log(SimulatedRuntime(clock, EventRecorder(lambda namespace: pytest.fail(), "test")))


async def test_a_followed_log_ends_with_its_container() -> None:
    clock = VirtualClock()
    recorder = EventRecorder(lambda namespace: pytest.fail("no event is written"), "test")
    runtime = SimulatedRuntime(clock, recorder)
    running = runtime.begin(pod(), PodAddresses("1", "2"), clock.now())
    running.advance(clock.now())

    async with asyncio.TaskGroup() as group:
        reading = group.create_task(log(runtime, follow=True))
        await clock.advance(60)
        assert not reading.done()
        running.remove()
        await clock.advance(2)

    assert reading.result() == "simulated container c started\n"


async def test_there_is_nothing_to_exec_in_attach_to_or_connect_to() -> None:
    runtime = started(VirtualClock())

    with pytest.raises(Unsupported):
        await runtime.execute("u", "c", ["true"], stdin=False, tty=False)
    with pytest.raises(Unsupported):
        await runtime.attach("u", "c", stdin=False, tty=False)
    with pytest.raises(Unsupported):
        await runtime.connect("u", 80)
