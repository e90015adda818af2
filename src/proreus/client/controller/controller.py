"""Controller: changes → keys → reconcile, with retries, one worker per key at a time.

Receives: keys, from ``sources`` through a work queue.  Hands on: requests, to the user's function.
Shutdown: no new work is begun; running reconciles may finish within a grace period, then they are
cancelled. In a leader that lost its lease (``client.fence``) there is no grace: what they still
write would not be sent.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import Counter
from collections.abc import Iterable
from contextlib import nullcontext
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Generic

from proreus.aio.clock import deadline
from proreus.aio.gate import Gate
from proreus.aio.tasks import raise_if_cancelled
from proreus.api.json_types import JsonObject
from proreus.api.object_type import AnyValue
from proreus.client.activity import signed_on
from proreus.client.controller.ended_reconcile import EndedReconcile
from proreus.client.controller.failure_log import Entry, FailureLog
from proreus.client.controller.own_writes import KeyWrites, OwnWrites
from proreus.client.controller.predicates import Predicate
from proreus.client.controller.reconciler import Reconcile, Request, Result, Source, TerminalError
from proreus.client.controller.sources import Watch, owned_watch
from proreus.client.fence import current_fence
from proreus.client.informer import Handler, Notification, SharedInformer
from proreus.client.informer.sync_report import SyncReport
from proreus.client.workqueue import QueueShutDown, RateLimitedQueue
from proreus.client.write_log import observed_by

log = logging.getLogger(__name__)

SHUTDOWN_GRACE_S = 30.0
LOW_PRIORITY = -100  # controller-runtime's


class ReconcileOutcome(StrEnum):
    """How a reconcile ended; controller-runtime's words."""

    SUCCESS = "success"
    REQUEUE_AFTER = "requeue_after"
    ERROR = "error"
    TERMINAL_ERROR = "terminal_error"
    GAVE_UP = "gave_up"


FAILURES = (ReconcileOutcome.ERROR, ReconcileOutcome.TERMINAL_ERROR, ReconcileOutcome.GAVE_UP)


@dataclass(frozen=True, slots=True)
class ReconcileLimits:
    """``max_retries`` None: a failing object is tried for ever, ever later. ``timeout_s`` ends
    one reconcile, which has failed then. ``resync_s``: every object is reconciled once per period;
    0: never. ``grace_s`` is what running reconciles have when the controller ends."""

    max_retries: int | None = None
    timeout_s: float | None = None
    resync_s: float = 0.0
    grace_s: float = SHUTDOWN_GRACE_S


class Controller(Generic[AnyValue]):
    """Calls ``reconcile`` for every object of ``primary`` that may need it.

    ``primary``: an informer, or a ``TypedInformer``, whose requests have values. ``when``: which of
    its changes count. ``owns``: informers of objects that primary objects control; their changes
    concern the owner. ``watches``: further informers, each with the keys that its objects concern.
    All informers must be running; work begins once they have synced.

    A reconcile reads what earlier ones of its key wrote: it begins once the informers show it
    (``own_writes``). What was there before and what a resync brings has a low priority: changes go
    first.
    """

    def __init__(  # noqa: PLR0913 - all that users say of a controller
        self,
        reconcile: Reconcile[AnyValue],
        primary: Source[AnyValue],
        *,
        when: Predicate[Any] | None = None,
        owns: Iterable[SharedInformer] = (),
        watches: Iterable[Watch] = (),
        name: str = "",
        concurrency: int = 1,
        limits: ReconcileLimits | None = None,
        queue: RateLimitedQueue[str] | None = None,
    ) -> None:
        self._source = primary
        self.primary = primary.raw
        self.name = name or self.primary.name
        self._reconcile = reconcile
        owned = [owned_watch(informer, self.primary) for informer in owns]
        self._watches: list[Watch] = [Watch(self.primary, when=when), *owned, *watches]
        self.concurrency = concurrency
        self._limits = limits or ReconcileLimits()
        self.own_writes = OwnWrites()
        self.share_own_writes(self.own_writes)
        self._clock = self.primary.clock
        # Compared with None: an empty queue is false.
        self.queue = RateLimitedQueue[str](self.name, clock=self._clock) if queue is None else queue
        self.outcomes: Counter[ReconcileOutcome] = Counter()
        self.last: EndedReconcile | None = None
        self.last_writing: EndedReconcile | None = None  # of those that wrote
        self._failure_log = FailureLog()
        self._working = Gate()
        self._has_run = False
        self._is_stopping = False

    @property
    def is_working(self) -> bool:
        """All informers have synced and the workers are running."""
        return self._working.is_open

    @property
    def informers(self) -> list[SharedInformer]:
        """The primary one first, each once."""
        return list(dict.fromkeys(watch.informer for watch in self._watches))

    def share_own_writes(self, own_writes: OwnWrites) -> None:
        """Let the reconcile function look at them too. Before ``run``."""
        self.own_writes = own_writes
        own_writes.follow(self.informers)

    async def wait_working(self) -> None:
        await self._working.wait_open()

    async def run(self) -> None:
        """Until cancelled. Once only: a second call raises RuntimeError."""
        if self._has_run:
            raise RuntimeError(
                f"the controller {self.name} runs already, or has run; make a new one"
            )
        self._has_run = True
        with signed_on(self, "controllers"):
            await self._run()

    async def _run(self) -> None:
        handlers = self._listen()
        try:
            with SyncReport(f"controller {self.name}", self.informers, self._clock):
                for _, handler in handlers:
                    await handler.wait_synced()
            async with asyncio.TaskGroup() as workers:
                for number in range(self.concurrency):
                    workers.create_task(self._work(), name=f"{self.name} worker {number}")
                self._working.open()
                await self._until_cancelled()
        finally:
            self._working.shut()
            for informer, handler in handlers:
                informer.remove_handler(handler)

    def _listen(self) -> list[tuple[SharedInformer, Handler]]:
        """One handler for all watches of an informer: most changes concern none of them."""
        primary, *others = self._watches
        by_informer: dict[SharedInformer, list[Watch]] = {}
        for watch in others:
            by_informer.setdefault(watch.informer, []).append(watch)
        added = [(primary.informer, self._handler([primary], self._limits.resync_s))]
        added += [(one, self._handler(watches)) for one, watches in by_informer.items()]
        return added

    def _handler(self, watches: list[Watch], resync_s: float = 0.0) -> Handler:
        def enqueue(notification: Notification) -> None:
            for watch in watches:
                if watch.among is not None and not watch.among:
                    continue  # most kinds of owners have no object at all
                if not (keys := watch.keys_of(notification)):
                    continue
                is_old = notification.is_initial or notification.is_resync
                priority = watch.priority if not is_old else min(watch.priority, LOW_PRIORITY)
                for key in keys:
                    self.queue.add(key, priority=priority)

        return watches[0].informer.add_handler(
            on_notification=enqueue,
            resync_s=resync_s,
            name=f"controller {self.name}",
            is_immediate=True,
        )

    async def _until_cancelled(self) -> None:
        try:
            await Gate().wait_open()
        finally:
            # One cancellation asks to stop and is honoured after the grace; a second one, the end
            # of the grace and the loss of leadership reach the workers.
            self._is_stopping = True
            await self._drain()

    async def _drain(self) -> None:
        fence = current_fence()
        if fence is not None and not fence.is_open:
            self.queue.shut_down()
            return
        with contextlib.suppress(TimeoutError):
            async with deadline(self._clock, self._limits.grace_s), asyncio.timeout(None) as end:
                now = asyncio.get_running_loop().time
                with fence.when_closed(lambda: end.reschedule(now())) if fence else nullcontext():
                    await self.queue.drain()

    async def _work(self) -> None:
        while True:
            try:
                key = await self.queue.get()
            except QueueShutDown:
                return
            try:
                if not self._is_stopping:
                    await self._reconcile_once(key)
            finally:
                self.queue.done(key)

    async def _reconcile_once(self, key: str) -> None:
        writes, began_at = self.own_writes.of(key), self._clock.monotonic()
        outcome = await self._process(key, writes)
        self.outcomes[outcome] += 1
        took_s = self._clock.monotonic() - began_at
        self.last = EndedReconcile(key, took_s, outcome.value, writes.noted)
        if writes.noted:
            self.last_writing = self.last

    async def _process(self, key: str, writes: KeyWrites) -> ReconcileOutcome:
        """One reconcile, and what follows from its answer."""
        queue = self.queue
        attempt = queue.failures(key)
        try:
            result = await self._call(key, attempt, writes) or Result()
        except TerminalError as error:
            self._log("reconcile failed for good", key, error, self._failure_log.ended(key, error))
            queue.forget(key)
            return ReconcileOutcome.TERMINAL_ERROR
        except (Exception, asyncio.CancelledError) as error:
            raise_if_cancelled(error)
            return self._failed(key, attempt, error)
        queue.forget(key)
        self._failure_log.succeeded(key)
        if result.requeue_after_s is None:
            return ReconcileOutcome.SUCCESS
        queue.add_after(key, result.requeue_after_s)
        return ReconcileOutcome.REQUEUE_AFTER

    async def _call(self, key: str, attempt: int, writes: KeyWrites) -> Result | None:
        await self.own_writes.wait_observed(key)
        found = self.primary.indexer.get(key)
        if found is None:
            self.own_writes.forget(key)
        began_at = self._clock.monotonic()
        try:
            with observed_by(writes):
                async with deadline(self._clock, self._limits.timeout_s):
                    return await self._reconcile(Request(key, found, attempt, self._source))
        except TimeoutError as late:
            took_s = self._clock.monotonic() - began_at
            limit_s = self._limits.timeout_s
            if limit_s is None or took_s < limit_s:
                raise  # the reconcile's own
            raise TimeoutError(f"the reconcile took longer than {limit_s:g} s") from late

    def _failed(self, key: str, attempt: int, error: BaseException) -> ReconcileOutcome:
        if self._limits.max_retries is not None and attempt >= self._limits.max_retries:
            self._log("reconcile given up", key, error, self._failure_log.ended(key, error))
            self.queue.forget(key)
            return ReconcileOutcome.GAVE_UP
        delay_s = self.queue.add_rate_limited(key)
        entry = self._failure_log.failed(key, error, delay_s)
        self._log("reconcile failed", f"{key} retry_in_s={delay_s:.3f}", error, entry)
        return ReconcileOutcome.ERROR

    def _log(self, phrase: str, key: str, error: BaseException, entry: Entry | None) -> None:
        if entry is not None:
            log.log(
                entry.level, "%s: controller=%s key=%s error=%r", phrase, self.name, key, error,
                exc_info=error if entry.has_traceback else None,
            )  # fmt: skip

    def describe(self) -> JsonObject:
        """What it is doing, as the debug pages show it (docs/debug.md)."""
        last, writing, outcomes = self.last, self.last_writing, self.outcomes
        return {
            "name": self.name,
            "resource": str(self.primary.resource),
            "queueDepth": len(self.queue),
            "delayed": self.queue.waiting_count,
            "active": self.queue.in_work_count,
            "reconciles": outcomes.total(),
            "failures": sum(outcomes[how] for how in FAILURES),
            "lastReconcile": last.describe() if last is not None else None,
            "lastWriting": writing.describe() if writing is not None else None,
        }

    def __repr__(self) -> str:
        state = "working" if self.is_working else "not working"
        return f"<Controller {self.name} {state}, {len(self.queue)} keys waiting>"
