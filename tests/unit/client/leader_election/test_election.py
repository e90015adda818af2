"""Leader election: one leader at a time, whatever the clocks say."""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import AsyncIterator
from typing import Any

import pytest

from proreus.api.group_version import GroupResource
from proreus.api.object import KubeObject
from proreus.api.status import AlreadyExists, Conflict, Forbidden, NotFound
from proreus.client.credentials import CredentialError
from proreus.client.leader_election import (
    ElectionTiming,
    LeaderElector,
    LeadershipLost,
    LeaseLock,
    LeaseRecord,
)
from proreus.client.resources.event_stream import ObjectEvent
from proreus.net.client.transport_error import ConnectionRefused
from proreus.testing.virtual_clock import VirtualClock

LEASES = GroupResource("coordination.k8s.io", "leases")


class MemoryLeases:
    """The leases of a namespace with compare-and-swap, and a cable that can be pulled."""

    def __init__(self) -> None:
        self.lease: KubeObject | None = None
        self.version = 0
        self.is_reachable = True
        self.failure: Exception | None = None
        self.unwatchable: Exception | None = None
        self.changed = asyncio.Event()

    async def get(self, name: str, /) -> KubeObject:
        self._reach()
        if self.lease is None:
            raise NotFound.of(LEASES, name)
        return self.lease

    async def create(self, body: dict[str, Any], /) -> KubeObject:
        self._reach()
        if self.lease is not None:
            raise AlreadyExists.of(LEASES, body["metadata"]["name"])
        return self._store(body)

    async def replace(self, body: dict[str, Any], /) -> KubeObject:
        self._reach()
        if self.lease is None or body["metadata"]["resourceVersion"] != str(self.version):
            raise Conflict.modified(LEASES, body["metadata"]["name"])
        return self._store(body)

    async def events(self, *, name: str) -> AsyncIterator[ObjectEvent]:
        if self.unwatchable is not None:
            raise self.unwatchable
        while True:
            if self.lease is not None and self.is_reachable:
                yield ObjectEvent("MODIFIED", self.lease)
            await self.changed.wait()

    def touch(self) -> None:
        """Someone labels the lease."""
        assert self.lease is not None
        self._store(self.lease.to_dict())

    @property
    def record(self) -> LeaseRecord:
        assert self.lease is not None
        return LeaseRecord.of(self.lease)

    def _reach(self) -> None:
        if self.failure is not None:
            raise self.failure
        if not self.is_reachable:
            raise ConnectionRefused("https://x", "refused")

    def _store(self, body: dict[str, Any]) -> KubeObject:
        self.version += 1
        body["metadata"]["resourceVersion"] = str(self.version)
        self.lease = KubeObject.from_dict(body)
        self.changed.set()
        self.changed = asyncio.Event()
        return self.lease


class SkewedClock(VirtualClock):
    """Another machine's calendar, the same passing of time."""

    def __init__(self, of: VirtualClock, by_s: float) -> None:
        super().__init__()
        self._of, self._by_s = of, by_s
        self.call_later = of.call_later  # type: ignore[method-assign]
        self.monotonic = of.monotonic  # type: ignore[method-assign]
        self.sleep = of.sleep  # type: ignore[method-assign]

    def now(self) -> float:
        return self._of.now() + self._by_s


class Candidate:
    def __init__(
        self, leases: MemoryLeases, clock: VirtualClock, identity: str, *, release: bool = True
    ) -> None:
        self.heard: list[str] = []
        self.clock = clock
        self.terms: list[list[float]] = []
        self.elector = LeaderElector(
            LeaseLock(leases, "default", "operator"),
            identity,
            release_on_stop=release,
            on_new_leader=self.heard.append,
            clock=clock,
            randomness=random.Random(7),
        )

    async def work(self) -> None:
        self.terms.append([self.clock.monotonic()])
        try:
            await asyncio.Event().wait()
        finally:
            self.terms[-1].append(self.clock.monotonic())


@contextlib.asynccontextmanager
async def standing(candidate: Candidate) -> AsyncIterator[asyncio.Task[None]]:
    task = asyncio.ensure_future(candidate.elector.run(candidate.work))
    try:
        await candidate.clock.settle()
        yield task
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError, LeadershipLost):
            await task


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock()


@pytest.fixture
def leases() -> MemoryLeases:
    return MemoryLeases()


async def test_the_first_candidate_creates_the_lease_and_leads(
    leases: MemoryLeases, clock: VirtualClock
) -> None:
    first = Candidate(leases, clock, "one")
    async with standing(first):
        assert first.elector.is_leader
        assert leases.record == LeaseRecord(
            "one", 15, "2026-01-01T00:00:00.000000Z", "2026-01-01T00:00:00.000000Z", 0
        )
        await clock.advance(4)

        assert leases.record.renew_time == "2026-01-01T00:00:04.000000Z"
        assert leases.record.acquire_time == "2026-01-01T00:00:00.000000Z"
        assert repr(first.elector) == "<LeaderElector one leads>"


async def test_clocks_an_hour_apart_neither_steal_nor_block(
    leases: MemoryLeases, clock: VirtualClock
) -> None:
    """client.md §14 case 38."""
    leader = Candidate(leases, clock, "one", release=False)
    ahead = Candidate(leases, SkewedClock(clock, 3600), "two")
    behind = Candidate(leases, SkewedClock(clock, -3600), "three")
    async with standing(ahead), standing(behind):
        pass  # both have looked; the lease is theirs to release
    leases.lease = None
    async with standing(leader) as leading, standing(ahead), standing(behind):
        await clock.advance(300)
        stolen = ahead.terms[1:] + behind.terms[1:]
        leading.cancel()
        await clock.settle()
        stopped_at = clock.monotonic()
        renewed_at = stopped_at - stopped_at % 2
        await clock.advance(30)

        took = [c for c in (ahead, behind) if c.elector.is_leader]
        assert stolen == []
        assert len(took) == 1
        assert renewed_at + 15 <= took[0].terms[-1][0] <= stopped_at + 15 + 4.4
        assert leases.record.transitions == 1


async def test_a_released_lease_is_taken_without_waiting_for_it_to_run_out(
    leases: MemoryLeases, clock: VirtualClock
) -> None:
    first, second = Candidate(leases, clock, "one"), Candidate(leases, clock, "two")
    async with standing(second):
        pass
    leases.lease = None
    async with standing(first) as leading, standing(second):
        await clock.advance(20)
        leading.cancel()
        await clock.settle()

        assert second.elector.is_leader, "it watches the lease, and no time has passed"
        assert second.heard[-2:] == ["", "two"]


@pytest.mark.parametrize("lived_s", [20.0, 21.3, 23.9, 30.1])
async def test_after_a_crash_another_leads_no_later_than_the_lease_lasts(
    leases: MemoryLeases, clock: VirtualClock, lived_s: float
) -> None:
    first = Candidate(leases, clock, "one", release=False)
    second = Candidate(leases, clock, "two")
    async with standing(first) as leading, standing(second):
        await clock.advance(lived_s)
        leading.cancel()
        await clock.settle()
        held_by = leases.record.holder
        await clock.advance(15.01)

        assert (held_by, leases.record.holder) == ("one", "two")
        assert second.elector.is_leader


async def test_a_candidate_that_may_not_watch_the_lease_tries_now_and_then(
    leases: MemoryLeases, clock: VirtualClock
) -> None:
    leases.unwatchable = Forbidden("leases may not be watched")
    first, second = Candidate(leases, clock, "one"), Candidate(leases, clock, "two")
    async with standing(first) as leading, standing(second):
        await clock.advance(20)
        leading.cancel()
        await clock.settle()
        released = leases.record
        await clock.advance(4.5)

        assert (released.holder, released.duration_s) == ("", 1)
        assert second.elector.is_leader


async def test_a_leader_that_cannot_renew_stops_before_another_may_start(
    leases: MemoryLeases, clock: VirtualClock
) -> None:
    leader = Candidate(leases, clock, "one")
    async with standing(leader) as leading:
        await clock.advance(20)
        leases.is_reachable = False
        await clock.advance(40)

        with pytest.raises(LeadershipLost, match="not renewed within 10 s"):
            await leading
        (term,) = leader.terms
        assert 20 < term[1] < 20 + 15, "the lease of 15 s had not run out"
        assert not leader.elector.is_leader


async def test_a_short_outage_is_survived(leases: MemoryLeases, clock: VirtualClock) -> None:
    leader = Candidate(leases, clock, "one")
    async with standing(leader):
        leases.is_reachable = False
        await clock.advance(8)
        leases.is_reachable = True
        await clock.advance(20)

        assert leader.elector.is_leader
        assert leader.elector.is_healthy()


async def test_a_credential_that_cannot_be_had_for_a_while_costs_no_leadership(
    leases: MemoryLeases, clock: VirtualClock, caplog: pytest.LogCaptureFixture
) -> None:
    leader = Candidate(leases, clock, "one")
    async with standing(leader):
        leases.failure = CredentialError("plugin: exit code 1")
        await clock.advance(8)
        leases.failure = None
        await clock.advance(20)

        assert len(leader.terms) == 1
        assert leader.elector.is_leader
    assert caplog.text.count("lease not reached") == 1
    assert "plugin: exit code 1" in caplog.text


async def test_a_lease_touched_by_someone_else_is_read_again_and_kept(
    leases: MemoryLeases, clock: VirtualClock
) -> None:
    leader = Candidate(leases, clock, "one")
    async with standing(leader):
        leases.touch()
        await clock.advance(2.1)

        assert leader.elector.is_leader
        assert leases.record.transitions == 0


async def test_the_workloads_end_and_its_failure_end_the_leadership(
    leases: MemoryLeases, clock: VirtualClock
) -> None:
    elector = Candidate(leases, clock, "one").elector

    async def finishes() -> None:
        pass

    async def fails() -> None:
        raise ZeroDivisionError

    await elector.run(finishes)
    after_end = leases.record.holder
    with pytest.raises(ZeroDivisionError):
        await elector.run(fails)

    assert (after_end, leases.record.holder) == ("", "")


@pytest.mark.parametrize(
    ("lease", "renew", "retry"), [(10, 10, 2), (15, 2, 2), (15, 10, 0), (1, 0.5, -1)]
)
def test_impossible_timings_are_refused(lease: int, renew: float, retry: float) -> None:
    with pytest.raises(ValueError, match="needed: lease duration > renew deadline"):
        ElectionTiming(lease, renew, retry)


def test_a_candidate_needs_an_identity(leases: MemoryLeases) -> None:
    with pytest.raises(ValueError, match="identity"):
        LeaderElector(LeaseLock(leases, "default", "x"), "")
