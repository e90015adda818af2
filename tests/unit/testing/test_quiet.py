"""``settle`` returns when nothing more will happen, and says who is busy if that never comes."""

from __future__ import annotations

import asyncio
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from proreus.aio.backoff import Backoff
from proreus.aio.clock import SystemClock
from proreus.aio.tasks import background
from proreus.api.object import KubeObject
from proreus.client import Client
from proreus.client.operator import Operator, Reconciliation
from proreus.server.config import ServerConfig
from proreus.server.storage.sqlite.database import Database
from proreus.testing.loop_idle import LoopIdle
from proreus.testing.program import running_program
from proreus.testing.quiet import StillBusy, settle, settle_outside
from proreus.testing.server import running_server
from proreus.testing.virtual_clock import VirtualClock


def _copier() -> Operator:
    """Copies every config map that is not a copy."""
    operator = Operator("copier")

    @operator.reconciler("configmaps")
    async def reconcile(found: Reconciliation[KubeObject]) -> None:
        if not found.name.startswith("copy-") and found.object is not None:
            body = {
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "metadata": {"name": f"copy-{found.name}", "namespace": found.namespace},
                "data": dict(found.object.get("data") or {}),
            }
            await found.client.resource_of(body).apply(body, field_manager="copier", force=True)

    return operator


async def _names(client: Client) -> set[str]:
    return {found.name for found in await client.core_v1.configmaps("default").list()}


@pytest.mark.parametrize("is_virtual", [True, False])
async def test_what_an_operator_does_is_done_after_settle(is_virtual: bool) -> None:
    clock = VirtualClock() if is_virtual else None
    async with (
        running_server(clock=clock) as server,
        server.client() as client,
        server.running(_copier()),
    ):
        await client.core_v1.configmaps("default").create({"metadata": {"name": "a"}})
        await server.settle()

        assert "copy-a" in await _names(client)


async def test_retries_with_back_off_are_waited_for() -> None:
    clock = VirtualClock()
    tries: list[float] = []

    async def stubborn() -> None:
        backoff = Backoff(clock, initial_s=0.01)
        while len(tries) < 5:
            tries.append(clock.monotonic())
            await clock.sleep(backoff.next())

    task = asyncio.create_task(stubborn())
    await settle(clock)

    assert len(tries) == 5
    await task


async def test_a_timer_beyond_the_horizon_is_left_alone() -> None:
    clock = VirtualClock()
    rung: list[float] = []
    clock.call_later(2.0, lambda: rung.append(clock.monotonic()))

    await settle(clock, horizon="1.5s")
    assert not rung
    await settle(clock, horizon="1m")
    assert rung == [2.0]
    assert clock.monotonic() == 2.0


async def test_work_in_a_thread_is_waited_for() -> None:
    clock = VirtualClock()
    released = asyncio.Event()
    done: list[int] = []

    async def worker() -> None:
        done.append(await asyncio.to_thread(sum, range(1000)))
        released.set()

    task = asyncio.create_task(worker())
    await clock.settle()  # the loop is looked at from here on
    again = asyncio.create_task(worker())
    await settle(clock)

    assert len(done) == 2
    await task
    await again


async def test_who_never_rests_is_named() -> None:
    async def spinning() -> None:
        while True:  # noqa: ASYNC110 - it is what is looked for
            await asyncio.sleep(0)

    LoopIdle.of(asyncio.get_running_loop()).iterations_max = 1000
    async with background(spinning()) as group:
        task = group.create_task(spinning(), name="the restless one")
        with pytest.raises(StillBusy, match="the restless one"):
            await settle(VirtualClock(), timeout_s=60)
        task.cancel()


async def test_a_server_that_is_left_alone_is_at_rest() -> None:
    async with running_server() as server:
        await server.settle(horizon=0)


async def test_a_request_that_waits_longer_than_the_horizon_is_named() -> None:
    async with running_server(clock=VirtualClock()) as server, server.client() as client:
        server.delay("list", "configmaps", "10s")
        async with asyncio.TaskGroup() as both:
            both.create_task(client.core_v1.configmaps("default").list())
            with pytest.raises(StillBusy, match="GET /api/v1/namespaces/default/configmaps"):
                await server.settle()
            await server.settle(horizon="20s")


async def test_what_a_thread_has_handed_to_the_loop_is_waited_for() -> None:
    loop, steps = asyncio.get_running_loop(), list[int]()

    def step() -> None:
        steps.append(len(steps))
        if len(steps) < 5:
            loop.call_soon(step)

    def is_busy() -> bool:
        """It ends in the moment that it is asked."""
        if not steps:
            loop.call_soon_threadsafe(step)
        return False

    rest = LoopIdle.of(loop)
    rest.others.add(is_busy)
    await rest.wait()

    assert len(steps) == 5


async def test_a_thread_that_says_late_that_it_is_done_is_not_waited_for_in_vain() -> None:
    loop, answers = asyncio.get_running_loop(), [True, True, False]
    rest = LoopIdle.of(loop)
    rest.others.add(lambda: answers.pop(0) if len(answers) > 1 else answers[0])

    async with asyncio.timeout(60):
        await rest.wait()

    assert answers == [False]


def _counter() -> Operator:
    """Each of five config maps brings the next one."""
    operator = Operator("counter")

    @operator.reconciler("configmaps")
    async def reconcile(found: Reconciliation[KubeObject]) -> None:
        number = int(found.name.removeprefix("map-") if found.name.startswith("map-") else 5)
        if number < 5:
            body = {"metadata": {"name": f"map-{number + 1}"}}
            await found.client.core_v1.configmaps(found.namespace).create(body)

    return operator


async def test_writes_that_cause_writes_are_done_after_settle_on_a_slow_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write, never = Database.write, threading.Event()

    def write_slowly(database: Database, rows: Any, old_of: Any) -> Any:
        never.wait(0.05)
        return write(database, rows, old_of)

    monkeypatch.setattr(Database, "write", write_slowly)
    async with (
        running_server(ServerConfig(data_dir=tmp_path), VirtualClock()) as server,
        server.client() as client,
        server.running(_counter()),
    ):
        await client.core_v1.configmaps("default").create({"metadata": {"name": "map-1"}})
        await server.settle()

        assert "map-5" in await _names(client)


class StallingClock(SystemClock):
    """Each sleep lasts a minute longer than was asked for: the machine stood still."""

    def __init__(self) -> None:
        super().__init__()
        self._passed_s = 0.0

    def monotonic(self) -> float:
        return self._passed_s

    async def sleep(self, delay_s: float) -> None:
        self._passed_s += delay_s + 60
        await asyncio.sleep(0)


async def test_a_program_is_not_called_quiet_because_the_machine_stood_still() -> None:
    looks: list[int] = []

    def signs_of_life() -> int:
        looks.append(len(looks))
        return min(len(looks), 10)  # it goes on whenever it can

    await settle_outside(signs_of_life, "2s", 10_000, tuple, clock=StallingClock())

    assert len(looks) > 20


async def test_a_program_is_not_called_quiet_while_others_have_the_processor() -> None:
    looks: list[float] = []

    def held_up_s() -> float:
        looks.append(min(len(looks), 30) * 0.1)  # all of the time, at first
        return looks[-1]

    await settle_outside(int, "2s", 10_000, tuple, held_up_s=held_up_s, clock=StallingClock())

    assert len(looks) > 50


async def test_time_without_a_processor_is_counted() -> None:
    spin = """
import os
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
while True:
    pass
"""
    command = (sys.executable, "-c", spin)
    async with running_program(*command) as one, running_program(*command) as other:
        async with asyncio.timeout(60):
            while not (one.held_up_s and other.held_up_s):  # noqa: ASYNC110  # nobody tells
                await asyncio.sleep(0.01)
