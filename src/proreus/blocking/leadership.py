"""Leader election and event recording without ``await``."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import ExitStack

from proreus.aio.tasks import background
from proreus.api.object import ObjectLike
from proreus.blocking.client import Client
from proreus.blocking.worker_threads import WorkerThreads
from proreus.client import event_recorder, leader_election
from proreus.client.leader_election import ElectionTiming, LeaseLock


class Term:
    """A time as leader. The workload looks at it now and then: no thread can be cancelled. What it
    writes after the end is not sent and raises ``NotPermitted``."""

    def __init__(self) -> None:
        self._ended = threading.Event()

    @property
    def has_ended(self) -> bool:
        return self._ended.is_set()

    def wait_ended(self, timeout_s: float | None = None) -> bool:
        """Whether it has ended, at the latest after ``timeout_s``: to sleep between two rounds."""
        return self._ended.wait(timeout_s)

    def end(self) -> None:
        self._ended.set()


class LeaderElector:
    """See ``proreus.client.LeaderElector``. ``namespace`` empty: the client's."""

    def __init__(
        self,
        client: Client,
        lease: str,
        identity: str,
        *,
        namespace: str = "",
        timing: ElectionTiming | None = None,
    ) -> None:
        self._loop = client._loop
        self._threads = WorkerThreads(f"leader {lease}")
        self._term: Term | None = None
        namespace = namespace or client.namespace
        leases = client._client.coordination_v1.leases(namespace)
        self._elector = self._loop.run(
            lambda: leader_election.LeaderElector(
                LeaseLock(leases, namespace, lease), identity, timing=timing
            )
        )

    @property
    def is_leader(self) -> bool:
        return self._elector.is_leader

    @property
    def leader(self) -> str:
        return self._elector.leader

    def run(self, workload: Callable[[Term], None]) -> None:
        """Wait to be elected, call ``workload`` on a thread of its own, step down when it returns.

        Raises LeadershipLost, or what the workload raised, once it has returned.
        """
        try:
            self._loop.call(self._elector.run(lambda: self._work(workload)))
        finally:
            self._threads.close()

    def resign(self) -> None:
        """Tell the workload that its term has ended; when it returns the lease is released."""
        if (term := self._term) is not None:
            term.end()

    async def _work(self, workload: Callable[[Term], None]) -> None:
        term, returned = Term(), asyncio.Event()
        self._term, loop = term, asyncio.get_running_loop()

        def call() -> None:
            try:
                workload(term)
            finally:
                loop.call_soon_threadsafe(returned.set)

        try:
            await self._threads.run(call)
        except asyncio.CancelledError:
            term.end()
            await returned.wait()
            raise


class EventRecorder:
    """See ``proreus.client.EventRecorder``. A context manager: leaving it writes what waits."""

    def __init__(self, client: Client, component: str, *, instance: str = "") -> None:
        self._loop = client._loop
        self._recorder = self._loop.run(
            lambda: event_recorder.EventRecorder(
                client._client.core_v1.events, component, instance=instance
            )
        )
        self._running = ExitStack()

    def __enter__(self) -> EventRecorder:
        self._running.enter_context(self._loop.held(background(self._recorder.run())))
        return self

    def __exit__(self, *exc: object) -> None:
        self._running.close()

    def event(
        self,
        obj: ObjectLike,
        type: str,  # noqa: A002  # the word of the API
        reason: str,
        message: str,
    ) -> None:
        """Never blocks for longer than a turn of the loop, and never fails."""
        self._loop.run(lambda: self._recorder.event(obj, type, reason, message))
