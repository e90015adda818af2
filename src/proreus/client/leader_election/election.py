"""Leader election: of many candidates at most one runs its workload.

    elector = LeaderElector(LeaseLock(leases, "default", "my-operator"), identity="pod-7")
    await elector.run(workload)     # waits its turn, leads, steps down

Others take over only after ``lease_duration_s`` without a change of the record, each on its own
clock. So clocks may differ by hours, but must run at about the same speed. Before that moment the
old leader has stopped, in two ways:

- A leader that cannot renew within ``renew_deadline_s``, or finds that another leads, cancels its
  workload and waits for its end. A ``Controller`` in it takes no grace then.
- The workload runs inside a fence (``client.fence``): no client sends a write from there unless the
  lease was written by this candidate less than its duration ago. So a process that was frozen, and
  wakes up in the middle of its work when another leads, changes nothing; only what it had handed to
  its sockets in the very moment of freezing is sent late.

A candidate whose ``run`` is cancelled renews until its workload has ended, and then releases the
lease, so that the next one leads at once; ``run_until_signal`` does so on SIGTERM and SIGINT.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from proreus.aio.clock import Clock, SystemClock, deadline
from proreus.aio.gate import Gate
from proreus.aio.tasks import as_part, background, is_cancelled
from proreus.api.object import KubeObject
from proreus.api.status import ApiError, Conflict, NotFound
from proreus.client.failure_reminder import FailureReminder
from proreus.client.fence import Fence
from proreus.client.leader_election.lease_lock import LeaseLock, LeaseRecord
from proreus.client.user_code import UserCode
from proreus.net.client.transport_error import TransportError

log = logging.getLogger(__name__)

_JITTER = 1.2  # a candidate waits between one and 2.2 retry periods
_AFTER_END_S = 0.001  # of a lease: sums of floats are off by less


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
        self._callback = UserCode("on_new_leader")
        self._clock = clock or SystemClock()
        self._random = randomness or random.Random()
        self._observed: _Observed | None = None
        self._renewed_at = float("-inf")
        self._has_written = False
        self._outage = FailureReminder(self._clock)
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
        return self.is_leader and self._lease_left_s() > 0

    def _lease_left_s(self) -> float:
        return self._renewed_at + self._timing.lease_duration_s - self._clock.monotonic()

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
        self._has_written = False
        try:
            await self._acquire()
            await self._lead(workload)
        finally:
            if self._release_on_stop and self._has_written:
                await self._release()

    async def _acquire(self) -> None:
        """There is no deadline: to wait is what a candidate is for. A lease that is released is
        tried for at once, and one that is no longer renewed when it runs out; beside that it is
        tried for now and then."""
        if not await self._try():
            released = Gate()
            async with background(self._watch(released)):
                await self._pause(released)
                while not await self._try():
                    await self._pause(released)
        log.info("leadership acquired: lease=%r identity=%s", self._lock, self.identity)

    async def _pause(self, released: Gate) -> None:
        pause_s = self._timing.retry_period_s * (1 + self._random.random() * _JITTER)
        if (seen := self._observed) is not None and self._must_respect(seen):
            runs_out_s = seen.at + seen.record.duration_s - self._clock.monotonic()
            pause_s = min(pause_s, runs_out_s + _AFTER_END_S)
        with contextlib.suppress(TimeoutError):
            async with deadline(self._clock, pause_s):
                await released.wait_open()
        released.shut()

    async def _watch(self, released: Gate) -> None:
        try:
            async for lease in self._lock.changes():
                # Seen when it is renewed, it is known when it runs out.
                if lease is None or not self._observe(lease).record.holder:
                    released.open()
        except ApiError as refused:
            # It is still tried for, as without a watch.
            log.info("lease not watched: lease=%r failure=%r", self._lock, refused)

    async def _lead(self, workload: Callable[[], Awaitable[None]]) -> None:
        """The workload, and the renewing of the lease beside it, which goes on until the workload
        has ended: also a workload that was cancelled may take its time."""
        fence = Fence(self.may_act)
        self._leading.open()
        try:
            async with asyncio.TaskGroup() as parts:
                renewing = parts.create_task(self._keep(fence), name=f"renew {self.name}")
                with fence.around():
                    await as_part(workload)
                renewing.cancel()
        except BaseExceptionGroup as failed:
            _, others = failed.split(LeadershipLost)
            if others is None and is_cancelled():
                raise asyncio.CancelledError from None
            # What the workload raised while it was being stopped says more than why it was.
            raise (others or failed).exceptions[0] from None
        finally:
            self._leading.shut()
            fence.close()

    async def _keep(self, fence: Fence) -> None:
        try:
            await self._renew()
        finally:
            self._leading.shut()
            fence.close()

    async def _renew(self) -> None:
        """Once per retry period, until a whole renew deadline passes without success, or the lease
        has run out."""
        timing = self._timing
        while True:
            await self._clock.sleep(timing.retry_period_s)
            limit_s = min(timing.renew_deadline_s, max(0.0, self._lease_left_s()))
            try:
                async with deadline(self._clock, limit_s):
                    while not await self._try():
                        if self.leader not in (self.identity, ""):
                            log.warning("leadership taken: lease=%r by=%s", self._lock, self.leader)
                            raise LeadershipLost(f"{self._lock!r}: {self.leader} leads")
                        await self._clock.sleep(timing.retry_period_s)
            except TimeoutError:
                why = f"lease not renewed within {limit_s:g} s"
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
            if self._outage.ended():
                log.info("lease reached again: lease=%r", self._lock)
            return is_ours
        except Conflict as failure:
            log.debug("lease not written: lease=%r failure=%r", self._lock, failure)
        except (ApiError, TransportError, TimeoutError) as failure:
            log.log(
                self._outage.failed(),
                "lease not reached: lease=%r failing_for_s=%.0f failure=%r",
                self._lock, self._outage.lasted_s, failure,
            )  # fmt: skip
        return False

    async def _acquire_or_renew(self) -> bool:
        now, duration_s = self._clock.now(), self._timing.lease_duration_s
        seen = self._observed
        if seen is not None and self._holds(seen):
            # Often no other candidate has written, so the version at hand is usually the right one.
            try:
                await self._write(seen.lease, seen.record.renewed(now, duration_s))
                return True
            except Conflict:
                pass  # another client wrote the Lease; look again
        try:
            lease = await self._lock.get()
        except NotFound:
            await self._write(None, LeaseRecord.first(self.identity, now, duration_s))
            return True
        seen = self._observe(lease)
        record = seen.record
        if record.holder == self.identity:
            wanted = record.renewed(now, duration_s)
        elif self._must_respect(seen):
            return False
        else:
            wanted = record.taken_by(self.identity, now, duration_s)
        await self._write(lease, wanted)
        return True

    async def _write(self, lease: KubeObject | None, wanted: LeaseRecord) -> None:
        self._has_written = True  # it may arrive even if its answer does not
        if lease is None:
            self._observe(await self._lock.create(wanted))
        else:
            self._observe(await self._lock.update(lease, wanted))

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
            self._callback.call(None, self._on_new_leader, record.holder)
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
