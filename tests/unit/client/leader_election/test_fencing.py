"""Two candidates with controllers in them: never do both act, whatever keeps one from renewing."""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import AsyncIterator
from typing import Any

import pytest

from proreus.api.object import KubeObject
from proreus.client import Client, ClientConfig, NotPermitted
from proreus.client.controller import Controller, Request
from proreus.client.leader_election import (
    ElectionTiming,
    LeaderElector,
    LeadershipLost,
    LeaseLock,
)
from proreus.client.resources.event_stream import ObjectEvent
from proreus.net.client.transport_error import ConnectionRefused
from proreus.testing.virtual_clock import VirtualClock
from tests.unit.client.controller.test_controller import World, thing
from tests.unit.client.leader_election.test_election import MemoryLeases
from tests.unit.client.scripted_server import ScriptedServer, answer

POD = {"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "p", "namespace": "a"}}


class Cable:
    """One candidate's way to the leases, which can be pulled."""

    def __init__(self, leases: MemoryLeases) -> None:
        self._leases = leases
        self.is_pulled = False

    async def get(self, name: str, /) -> KubeObject:
        self._reach()
        return await self._leases.get(name)

    async def create(self, body: dict[str, Any], /) -> KubeObject:
        self._reach()
        return await self._leases.create(body)

    async def replace(self, body: dict[str, Any], /) -> KubeObject:
        self._reach()
        return await self._leases.replace(body)

    def events(self, *, name: str) -> AsyncIterator[ObjectEvent]:
        return self._leases.events(name=name)

    def _reach(self) -> None:
        if self.is_pulled:
            raise ConnectionRefused("https://x", "refused")


class Operator:
    """An elector whose workload is a controller; each reconcile takes ``takes_s``."""

    def __init__(
        self, leases: MemoryLeases, clock: VirtualClock, name: str, takes_s: float
    ) -> None:
        self.cable = Cable(leases)
        self.clock = clock
        self.name = name
        self.takes_s = takes_s
        self.acting: list[list[float]] = []  # begin and end of each reconcile
        self.elector = LeaderElector(
            LeaseLock(self.cable, "default", "operator"),
            name,
            clock=clock,
            randomness=random.Random(7),
        )

    async def work(self) -> None:
        world = World()
        world.clock = self.clock
        informer = world.informer("widgets", thing("Widget", "a", 1))

        async def reconcile(_: Request) -> None:
            self.acting.append([self.clock.monotonic()])
            try:
                await self.clock.sleep(self.takes_s)
            finally:
                self.acting[-1].append(self.clock.monotonic())

        async with asyncio.TaskGroup() as parts:
            parts.create_task(informer.run())
            parts.create_task(Controller(reconcile, informer).run())

    @contextlib.asynccontextmanager
    async def standing(self) -> AsyncIterator[asyncio.Task[None]]:
        task = asyncio.ensure_future(self.elector.run(self.work))
        try:
            await self.clock.settle()
            yield task
        finally:
            task.cancel()
            await self.clock.advance(40)
            await asyncio.gather(task, return_exceptions=True)


async def test_a_leader_that_lost_its_lease_stops_its_reconciles_before_another_leads() -> None:
    clock, leases = VirtualClock(), MemoryLeases()
    one = Operator(leases, clock, "one", takes_s=1000)
    two = Operator(leases, clock, "two", takes_s=1)
    async with one.standing() as first, two.standing():
        await clock.advance(5)
        one.cable.is_pulled = True
        await clock.advance(60)

        with pytest.raises(LeadershipLost):
            await first
        assert two.elector.is_leader
        ((_, ended),) = one.acting
        assert ended < two.acting[0][0]


async def test_a_leader_that_is_stopped_keeps_its_lease_until_its_reconciles_have_ended() -> None:
    clock, leases = VirtualClock(), MemoryLeases()
    one = Operator(leases, clock, "one", takes_s=25)  # longer than the lease, shorter than grace
    two = Operator(leases, clock, "two", takes_s=1)
    async with one.standing() as first, two.standing():
        await clock.advance(1)
        first.cancel()
        await clock.advance(60)

        assert first.cancelled()
        assert one.acting == [[0, 25]]
        assert 25 <= two.acting[0][0] <= 30, "the lease was released, not waited for"


async def test_a_leader_that_cannot_renew_while_it_stops_takes_no_more_grace() -> None:
    clock, leases = VirtualClock(), MemoryLeases()
    one = Operator(leases, clock, "one", takes_s=25)
    two = Operator(leases, clock, "two", takes_s=1)
    async with one.standing() as first, two.standing():
        await clock.advance(1)
        first.cancel()
        one.cable.is_pulled = True
        await clock.advance(60)

        assert first.cancelled()
        ((_, ended),) = one.acting
        assert ended < two.acting[0][0]


async def test_a_lease_shorter_than_the_time_to_notice_its_loss_ends_the_workload_in_time() -> None:
    clock, leases = VirtualClock(), MemoryLeases()
    ended: list[float] = []
    elector = LeaderElector(
        LeaseLock(leases, "default", "x"),
        "one",
        timing=ElectionTiming(lease_duration_s=11, renew_deadline_s=10.5, retry_period_s=5),
        clock=clock,
    )

    async def workload() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(clock.monotonic())

    running = asyncio.ensure_future(elector.run(workload))
    await clock.settle()
    leases.is_reachable = False
    await clock.advance(60)

    assert ended[0] <= 11
    with pytest.raises(LeadershipLost):
        await running


async def test_a_candidate_cancelled_while_it_takes_the_lease_releases_it() -> None:
    clock = VirtualClock()

    class Slow(MemoryLeases):
        async def create(self, body: dict[str, Any], /) -> KubeObject:
            made = await super().create(body)
            await clock.sleep(5)
            return made

    leases = Slow()
    elector = LeaderElector(LeaseLock(leases, "default", "x"), "one", clock=clock)

    async def workload() -> None:
        raise AssertionError("it was not elected")

    running = asyncio.ensure_future(elector.run(workload))
    await clock.advance(1)
    running.cancel()
    await clock.advance(1)

    assert running.cancelled()
    assert leases.record.holder == ""


# Writes


class FreezableClock(VirtualClock):
    def freeze(self, for_s: float) -> None:
        """Time passes, and no timer of this process runs."""
        self._elapsed_s += for_s


@contextlib.asynccontextmanager
async def client_of(clock: VirtualClock) -> AsyncIterator[tuple[Client, ScriptedServer]]:
    async with (
        ScriptedServer([answer(200, POD)], repeats=True).running() as server,
        Client(ClientConfig(server.url), clock=clock) as client,
    ):
        yield client, server


async def test_a_process_that_was_frozen_past_its_lease_sends_no_write() -> None:
    clock = FreezableClock()
    elector = LeaderElector(LeaseLock(MemoryLeases(), "default", "x"), "one", clock=clock)
    async with client_of(clock) as (client, server):
        pods = client.core_v1.pods("a")

        async def workload() -> None:
            await pods.patch("p", {"spec": {}})
            clock.freeze(15)
            assert (await pods.get("p")).name == "p", "reads pass"
            for write in (
                pods.patch("p", {"spec": {}}),
                pods.create(POD),
                pods.replace(POD),
                pods.delete("p"),
            ):
                # Tasks of the workload are fenced like itself.
                with pytest.raises(NotPermitted):
                    await asyncio.create_task(write)

        await elector.run(workload)
        await pods.patch("p", {"spec": {}})  # outside of the workload nothing is fenced

        assert [one.method for one in server.requests] == ["PATCH", "GET", "PATCH"]


async def test_what_an_earlier_term_left_behind_does_not_write_in_the_next() -> None:
    clock = VirtualClock()
    elector = LeaderElector(LeaseLock(MemoryLeases(), "default", "x"), "one", clock=clock)
    left: list[asyncio.Task[Any]] = []
    go_on = asyncio.Event()
    async with client_of(clock) as (client, server):

        async def write_later() -> None:
            await go_on.wait()
            await client.core_v1.pods("a").patch("p", {"spec": {}})

        async def first() -> None:
            left.append(asyncio.create_task(write_later()))

        async def second() -> None:
            go_on.set()
            with pytest.raises(NotPermitted):
                await left[0]

        await elector.run(first)
        await elector.run(second)

        assert server.requests == []


async def test_a_leader_inside_a_leader_writes_only_while_both_lead() -> None:
    outer_clock, inner_clock = FreezableClock(), VirtualClock()
    outer = LeaderElector(LeaseLock(MemoryLeases(), "default", "x"), "one", clock=outer_clock)
    inner = LeaderElector(LeaseLock(MemoryLeases(), "default", "y"), "one", clock=inner_clock)
    async with client_of(inner_clock) as (client, server):

        async def write() -> None:
            await client.core_v1.pods("a").patch("p", {"spec": {}})
            outer_clock.freeze(15)
            with pytest.raises(NotPermitted):
                await client.core_v1.pods("a").patch("p", {"spec": {}})

        await outer.run(lambda: inner.run(write))

        assert len(server.requests) == 1
