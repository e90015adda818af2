"""Leader election: of many candidates at most one runs its workload.

    elector = LeaderElector(LeaseLock(leases, "default", "my-operator"), identity="pod-7")
    await elector.run(workload)     # waits its turn, leads, steps down

A leader that cannot renew within ``renew_deadline_s``, or finds that another leads, cancels its
workload and waits for its end; others take over only after ``lease_duration_s`` without a change of
the record, each on its own clock. So clocks may differ by hours, but must run at about the same
speed. A process that was frozen for longer than that wakes up in the middle of its work: what it
does to others should ask ``may_act`` first, as ``Client(permit=…)`` does before each write. Then
only what was handed to the sockets in the very moment of freezing is sent late.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from proreus.aio.clock import Clock, SystemClock, deadline
from proreus.aio.gate import Gate
from proreus.api.object import KubeObject
from proreus.api.status import ApiError, Conflict, NotFound
from proreus.client.leader_election.lease_lock import LeaseLock, LeaseRecord
from proreus.net.transport_error import TransportError

log = logging.getLogger(__name__)

_JITTER = 1.2  # a candidate waits between one and 2.2 retry periods


class LeadershipLost(Exception):
    """The lease could not be renewed in time; the workload has been cancelled."""


@dataclass(frozen=True, slots=True)
class ElectionTiming:
    """Kubernetes' own components use these defaults."""

    lease_duration_s: int = 15
    renew_deadline_s: float = 10.0
    retry_period_s: float = 2.0

    def __post_init__(self) -> None:
        if not self.lease_duration_s > self.renew_deadline_s > _JITTER * self.retry_period_s > 0:
            raise ValueError(
                "needed: lease duration > renew deadline > 1.2 × retry period > 0, "
                f"got {self.lease_duration_s}, {self.renew_deadline_s}, {self.retry_period_s}"
            )


@dataclass(frozen=True, slots=True)
class _Observed:
    """The record as last seen changing, and when that was on the local clock."""

    lease: KubeObject
    record: LeaseRecord
    at: float


class LeaderElector:
    """One candidate. ``on_new_leader`` hears of every holder it observes, itself included."""

    def __init__(
        self,
        lock: LeaseLock,
        identity: str,
        *,
        timing: ElectionTiming | None = None,
        release_on_stop: bool = True,
        on_new_leader: Callable[[str], None] | None = None,
        clock: Clock | None = None,
        randomness: random.Random | None = None,
    ) -> None:
        if not identity:
            raise ValueError("a candidate needs an identity")
        self._lock = lock
        self.name = lock.name
        self.identity = identity
        self._timing = timing or ElectionTiming()
        self._release_on_stop = release_on_stop
        self._on_new_leader = on_new_leader
        self._clock = clock or SystemClock()
        self._random = randomness or random.Random()
        self._observed: _Observed | None = None
        self._renewed_at = float("-inf")
        self._leading = Gate()

    @property
    def is_leader(self) -> bool:
        """The workload is running, or about to."""
        return self._leading.is_open

    async def wait_leading(self) -> None:
        await self._leading.wait_open()

    @property
    def leader(self) -> str:
        """The holder as last observed; empty if none."""
        return self._observed.record.holder if self._observed else ""

    def may_act(self) -> bool:
        """Whether nobody else can lead at this moment: the lease was written, by us, less than its
        duration ago, counted from before the writing."""
        age_s = self._clock.monotonic() - self._renewed_at
        return self.is_leader and age_s < self._timing.lease_duration_s

    def is_healthy(self, tolerance_s: float = 20.0) -> bool:
        """False if it believes to lead although its lease must have run out: for liveness."""
        if not self.is_leader or self._observed is None:
            return True
        age_s = self._clock.monotonic() - self._observed.at
        return age_s <= self._timing.lease_duration_s + tolerance_s

    async def run(self, workload: Callable[[], Awaitable[None]]) -> None:
        """Wait to be elected, run ``workload``, step down when it ends or when cancelled.

        Raises LeadershipLost, or whatever the workload raised. Call it again to stand again.
        """
        await self._acquire()
        self._leading.open()
        try:
            async with asyncio.TaskGroup() as parts:
                renewing = parts.create_task(self._renew(), name=f"renew {self._lock.name}")
                await workload()
                renewing.cancel()
        except BaseExceptionGroup as failed:
            _, others = failed.split(LeadershipLost)
            # What the workload raised while it was being stopped says more than why it was.
            raise (others or failed).exceptions[0] from None
        finally:
            self._leading.shut()
            if self._release_on_stop:
                await self._release()

    async def _acquire(self) -> None:
        """There is no deadline: to wait is what a candidate is for."""
        period_s = self._timing.retry_period_s
        while not await self._try():
            await self._clock.sleep(period_s * (1 + self._random.random() * _JITTER))
        log.info("leadership acquired: lease=%r identity=%s", self._lock, self.identity)

    async def _renew(self) -> None:
        """Once per retry period, until a whole renew deadline passes without success."""
        while True:
            await self._clock.sleep(self._timing.retry_period_s)
            try:
                async with deadline(self._clock, self._timing.renew_deadline_s):
                    while not await self._try():
                        if self.leader not in (self.identity, ""):
                            log.warning("leadership taken: lease=%r by=%s", self._lock, self.leader)
                            raise LeadershipLost(f"{self._lock!r}: {self.leader} leads")
                        await self._clock.sleep(self._timing.retry_period_s)
            except TimeoutError:
                why = f"lease not renewed within {self._timing.renew_deadline_s:g} s"
                log.warning("leadership lost: lease=%r leader=%s", self._lock, self.leader)
                raise LeadershipLost(f"{self._lock!r}: {why}") from None

    async def _try(self) -> bool:
        """Acquire or renew once; False on any failure, which the next try may mend."""
        began_at = self._clock.monotonic()
        try:
            async with deadline(self._clock, self._timing.renew_deadline_s):
                is_ours = await self._acquire_or_renew()
            if is_ours:
                self._renewed_at = began_at
            return is_ours
        except (ApiError, TransportError, TimeoutError) as failure:
            level = logging.DEBUG if isinstance(failure, Conflict) else logging.WARNING
            log.log(level, "lease not written: lease=%r failure=%r", self._lock, failure)
            return False

    async def _acquire_or_renew(self) -> bool:
        now, duration_s = self._clock.now(), self._timing.lease_duration_s
        seen = self._observed
        if seen is not None and self._holds(seen):
            # Nobody else may have written, so the version at hand is usually the right one.
            try:
                renewed = seen.record.renewed(now, duration_s)
                self._observe(await self._lock.update(seen.lease, renewed))
                return True
            except Conflict:
                pass  # someone touched the Lease; look again
        try:
            lease = await self._lock.get()
        except NotFound:
            first = LeaseRecord.first(self.identity, now, duration_s)
            self._observe(await self._lock.create(first))
            return True
        seen = self._observe(lease)
        record = seen.record
        if record.holder == self.identity:
            wanted = record.renewed(now, duration_s)
        elif self._must_respect(seen):
            return False
        else:
            wanted = record.taken_by(self.identity, now, duration_s)
        self._observe(await self._lock.update(lease, wanted))
        return True

    def _holds(self, seen: _Observed) -> bool:
        age_s = self._clock.monotonic() - seen.at
        return seen.record.holder == self.identity and age_s < seen.record.duration_s

    def _must_respect(self, seen: _Observed) -> bool:
        """Another holds the lease, and its record changed less than its duration ago."""
        age_s = self._clock.monotonic() - seen.at
        return bool(seen.record.holder) and age_s < seen.record.duration_s

    def _observe(self, lease: KubeObject) -> _Observed:
        record, before = LeaseRecord.of(lease), self._observed
        if before is not None and before.record == record:
            self._observed = _Observed(lease, record, before.at)
            return self._observed
        self._observed = _Observed(lease, record, self._clock.monotonic())
        if self._on_new_leader is not None and self.leader != (
            before.record.holder if before else None
        ):
            self._on_new_leader(record.holder)
        return self._observed

    async def _release(self) -> None:
        """Let the next candidate lead at once. Best effort: the lease runs out anyway."""
        try:
            async with deadline(self._clock, self._timing.renew_deadline_s):
                while True:
                    lease = await self._lock.get()
                    record = LeaseRecord.of(lease)
                    if record.holder != self.identity:
                        return
                    try:
                        released = record.released(self._clock.now())
                        self._observe(await self._lock.update(lease, released))
                    except Conflict:
                        continue
                    log.info("leadership released: lease=%r", self._lock)
                    return
        except (ApiError, TransportError, TimeoutError) as failure:
            log.warning("lease not released: lease=%r failure=%r", self._lock, failure)

    def __repr__(self) -> str:
        role = "leads" if self.is_leader else f"follows {self.leader or 'nobody'}"
        return f"<LeaderElector {self.identity} {role}>"
