"""Controller: changes → keys → reconcile, with retries, one worker per key at a time.

Receives: keys, from ``sources`` through a work queue.  Hands on: requests, to the user's function.
Shutdown: no new work is begun; running reconciles may finish within a grace period, then they are
cancelled.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import Counter
from collections.abc import Iterable
from enum import StrEnum

from proreus.aio.clock import deadline
from proreus.aio.gate import Gate
from proreus.client.controller.reconciler import Reconcile, Request, Result, TerminalError
from proreus.client.controller.sources import Watch, owner_keys
from proreus.client.informer import Handler, Notification, SharedInformer
from proreus.client.workqueue import QueueShutDown, RateLimitedQueue

log = logging.getLogger(__name__)

SHUTDOWN_GRACE_S = 30.0


class Outcome(StrEnum):
    """How a reconcile ended; controller-runtime's words."""

    SUCCESS = "success"
    REQUEUE_AFTER = "requeue_after"
    ERROR = "error"
    TERMINAL_ERROR = "terminal_error"
    GAVE_UP = "gave_up"


class Controller:
    """Calls ``reconcile`` for every object of ``primary`` that may need it.

    ``owns``: informers of objects that primary objects control; their changes concern the owner.
    ``watches``: further informers, each with the keys that its objects concern. ``primary`` may
    itself be a Watch, to give it a predicate. All informers must be running; work begins once they
    have synced. ``max_retries`` None retries a failing object for ever, ever more slowly.
    """

    def __init__(
        self,
        reconcile: Reconcile,
        primary: SharedInformer | Watch,
        *,
        owns: Iterable[SharedInformer] = (),
        watches: Iterable[Watch] = (),
        name: str = "",
        concurrency: int = 1,
        max_retries: int | None = None,
        queue: RateLimitedQueue[str] | None = None,
    ) -> None:
        source = primary if isinstance(primary, Watch) else Watch(primary)
        self.primary = source.informer
        self.name = name or self.primary.name
        self._reconcile = reconcile
        owned = [Watch(informer, owner_keys(self.primary)) for informer in owns]
        self._watches = [source, *owned, *watches]
        self._concurrency = concurrency
        self._max_retries = max_retries
        self._clock = self.primary.clock
        # Compared with None: an empty queue is false.
        self.queue = RateLimitedQueue[str](self.name, clock=self._clock) if queue is None else queue
        self.outcomes: Counter[Outcome] = Counter()
        self._working = Gate()
        self._is_stopping = False

    @property
    def is_working(self) -> bool:
        """All informers have synced and the workers are running."""
        return self._working.is_open

    @property
    def informers(self) -> list[SharedInformer]:
        """The primary one first, each once."""
        return list(dict.fromkeys(watch.informer for watch in self._watches))

    async def wait_working(self) -> None:
        await self._working.wait_open()

    async def run(self) -> None:
        """Until cancelled. Once only."""
        handlers = [(watch.informer, self._listen(watch)) for watch in self._watches]
        try:
            for _, handler in handlers:
                await handler.wait_synced()
            async with asyncio.TaskGroup() as workers:
                for number in range(self._concurrency):
                    workers.create_task(self._work(), name=f"{self.name} worker {number}")
                self._working.open()
                await self._until_cancelled()
        finally:
            self._working.shut()
            for informer, handler in handlers:
                informer.remove_handler(handler)

    def _listen(self, watch: Watch) -> Handler:
        def enqueue(notification: Notification) -> None:
            for key in watch.keys_of(notification):
                self.queue.add(key)

        return watch.informer.add_handler(on_notification=enqueue, name=f"controller {self.name}")

    async def _until_cancelled(self) -> None:
        try:
            await Gate().wait_open()
        finally:
            # One cancellation asks to stop and is honoured after the grace; a second one, and the
            # end of the grace, reach the workers.
            self._is_stopping = True
            with contextlib.suppress(TimeoutError):
                async with deadline(self._clock, SHUTDOWN_GRACE_S):
                    await self.queue.drain()

    async def _work(self) -> None:
        while True:
            try:
                key = await self.queue.get()
            except QueueShutDown:
                return
            try:
                if not self._is_stopping:
                    self.outcomes[await self._attend(key)] += 1
            finally:
                self.queue.done(key)

    async def _attend(self, key: str) -> Outcome:
        """One reconcile, and what follows from its answer."""
        queue = self.queue
        request = Request(key, self.primary.indexer.get(key), queue.failures(key))
        try:
            result = await self._reconcile(request) or Result()
        except TerminalError:
            log.exception("reconcile failed for good: controller=%s key=%s", self.name, key)
            queue.forget(key)
            return Outcome.TERMINAL_ERROR
        except Exception:
            return self._failed(request)
        queue.forget(key)
        if result.requeue_after_s is None:
            return Outcome.SUCCESS
        queue.add_after(key, result.requeue_after_s)
        return Outcome.REQUEUE_AFTER

    def _failed(self, request: Request) -> Outcome:
        key, failures = request.key, request.attempt + 1
        if self._max_retries is not None and failures > self._max_retries:
            log.exception("reconcile given up: controller=%s key=%s", self.name, key)
            self.queue.forget(key)
            return Outcome.GAVE_UP
        delay_s = self.queue.add_rate_limited(key)
        log.exception(
            "reconcile failed: controller=%s key=%s failures=%d retry_in_s=%.3f",
            self.name, key, failures, delay_s,
        )  # fmt: skip
        return Outcome.ERROR

    def __repr__(self) -> str:
        state = "working" if self.is_working else "not working"
        return f"<Controller {self.name} {state}, {len(self.queue)} keys waiting>"
