"""Work that would hold the event loop: done in threads, or on the loop in slices.

A thread that runs Python code takes its turns at the interpreter from the loop, and delays each of
the loop's system calls by up to its switch interval. So what can be cut into slices runs on the
loop, one slice in each turn of it (``aio/turns``); what cannot (one large document) runs in a lane
with a single thread; only C code that releases the interpreter lock, such as zlib, has a lane with
several.

Each sort of work has a lane of its own, so that a long body delays no answer. A lane has a bound on
its threads and on the jobs that wait for them. ``open_offload`` owns the threads: at its end jobs
that have not begun are cancelled and those at work are awaited.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import asynccontextmanager
from typing import Generic, TypeVar

from proreus.aio.turns import Turns
from proreus.api.status import TooManyRequests
from proreus.lazy_dataclass import dataclass

T = TypeVar("T")
_QUEUED_MAX = 1_000
_RETRY_AFTER_S = 1


class Lane:
    """Threads for one sort of work; they start with the first job. Without any it runs on the
    loop: for tests on virtual time, beside which no thread may be at work."""

    def __init__(self, name: str, threads: int, queued_max: int = _QUEUED_MAX) -> None:
        self._name = name
        self._threads = (
            ThreadPoolExecutor(max_workers=threads, thread_name_prefix=name) if threads else None
        )
        self._jobs_max = threads + queued_max
        self._jobs = 0
        self._counting = threading.Lock()  # jobs end in their thread

    async def run(self, work: Callable[[], T]) -> T:
        """The result of work on data that nothing else changes meanwhile.

        Raises what the work raises, and TooManyRequests if too much of it waits. Work whose caller
        gives up is not begun any more; what has begun still ends.
        """
        if self._threads is None:
            return work()
        with self._counting:
            if self._jobs >= self._jobs_max:
                raise TooManyRequests.of(
                    "the server has too much work of this kind", _RETRY_AFTER_S
                )
            self._jobs += 1
        job = self._threads.submit(work)
        waited = asyncio.wrap_future(job)
        # After the loop has been told: who looks at ``is_busy``, then at the loop, misses nothing.
        job.add_done_callback(self._ended)
        return await waited

    @property
    def is_busy(self) -> bool:
        return self._jobs > 0

    def _ended(self, job: Future[T]) -> None:
        with self._counting:
            self._jobs -= 1

    def close(self) -> None:
        """Cancel what has not begun and wait for the rest."""
        if self._threads is not None:
            self._threads.shutdown(wait=True, cancel_futures=True)

    def __repr__(self) -> str:
        return f"<Lane {self._name}: {self._jobs} jobs>"


class Inline:
    """Runs work on the loop: for what is known to be short."""

    async def run(self, work: Callable[[], T]) -> T:
        return work()


INLINE = Inline()
Runner = Inline | Lane


@dataclass(frozen=True, slots=True)
class NeedsThread(Generic[T]):
    """Instead of a result that takes too long for the loop: ``work`` finds it, in ``lane`` or, if
    that is None, in the lane of large bodies."""

    work: Callable[[], T]
    lane: Lane | None = None


class Offload:
    """``turns`` for slices on the loop; a lane for what cannot be cut into slices."""

    def __init__(self, *, has_threads: bool = True) -> None:
        few, several = (1, 2) if has_threads else (0, 0)
        self.turns = Turns()
        self.queries = Lane("queries", few)
        self.bodies = Lane("bodies", few)
        self.answers = Lane("answers", few)
        self.compression = Lane("compression", several)
        self.definitions = Lane("definitions", few)  # custom ones: large schemas, rules to compile
        self.custom_objects = Lane("custom objects", few)  # rules and patterns that take long
        self.expressions = Lane("expressions", few)  # of admission, those that take long
        self.audit = Lane("audit", few)  # the disk of the log
        self.configuration = Lane("configuration", few)  # files that changed, keys to be made

    def is_busy(self) -> bool:
        """Whether a thread is at work, or has work waiting."""
        return any(lane.is_busy for lane in self._lanes())

    def close(self) -> None:
        for lane in self._lanes():
            lane.close()

    def _lanes(self) -> tuple[Lane, ...]:
        return (
            self.queries,
            self.bodies,
            self.answers,
            self.compression,
            self.definitions,
            self.custom_objects,
            self.expressions,
            self.audit,
            self.configuration,
        )


@asynccontextmanager
async def open_offload(*, has_threads: bool = True) -> AsyncIterator[Offload]:
    offload = Offload(has_threads=has_threads)
    if not has_threads:
        yield offload
        return
    try:
        yield offload
    finally:
        # Threads at work need the interpreter to end; the loop must not hold it meanwhile.
        await asyncio.shield(asyncio.to_thread(offload.close))
