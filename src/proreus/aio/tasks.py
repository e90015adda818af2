"""Supervision of long-lived tasks.

A part is an ``async def run()`` that ends only by cancellation. ``supervise`` restarts one that
dies, with back-off, and reports it each time.

A ``CancelledError`` may also come from inside, when code cancels a task of its own and awaits it.
Taken for a cancellation of the current task it would end that task silently, because a
TaskGroup ignores cancelled children. ``raise_if_cancelled`` and ``as_part`` tell the two apart.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from typing import Any

from proreus.aio.backoff import Backoff
from proreus.aio.clock import Clock

Part = Callable[[], Awaitable[None]]
Died = Callable[[str, BaseException | None, float], None]  # part, why (None: returned), delay


class StrayCancellation(RuntimeError):
    """A CancelledError escaped from code although the task that ran it was not cancelled."""


def raise_if_cancelled(failure: BaseException) -> None:
    """Raise ``failure`` again if it is the current task's cancellation; return if it is a failure
    of the code that raised it. To be called from an ``except`` clause."""
    if isinstance(failure, asyncio.CancelledError) and is_cancelled():
        raise failure


async def as_part(run: Part) -> None:
    """``run``, for a task whose owner must notice its end: a CancelledError that is not the task's
    own cancellation leaves as a StrayCancellation."""
    try:
        await run()
    except asyncio.CancelledError as failure:
        raise_if_cancelled(failure)
        raise StrayCancellation("a CancelledError escaped; the task was not cancelled") from failure


def is_cancelled() -> bool:
    """Whether the current task was asked to end."""
    try:
        task = asyncio.current_task()
    except RuntimeError:  # no loop runs in this thread, so there is nothing to cancel
        return False
    return task is not None and task.cancelling() > 0


async def supervise(name: str, run: Part, *, clock: Clock, backoff: Backoff, died: Died) -> None:
    """Keep ``run`` running for ever. Only cancellation ends it."""
    while True:
        why: BaseException | None = None
        try:
            await run()
        except (Exception, asyncio.CancelledError) as failure:
            raise_if_cancelled(failure)
            why = failure
        delay_s = backoff.next()
        died(name, why, delay_s)
        await clock.sleep(delay_s)


@contextlib.asynccontextmanager
async def background(*parts: Awaitable[None]) -> AsyncIterator[asyncio.TaskGroup]:
    """Run parts beside the body and cancel them when it ends; a part's failure ends the body."""
    async with asyncio.TaskGroup() as group:

        def ended(task: asyncio.Task[None]) -> None:
            if task.cancelled() and not task.cancelling():
                group.create_task(_stray(task.get_name()))

        tasks = [group.create_task(_as_coroutine(each)) for each in parts]
        for task in tasks:
            task.add_done_callback(ended)
        try:
            yield group
        finally:
            for task in tasks:
                task.cancel()


@contextlib.asynccontextmanager
async def beside(
    work: Coroutine[Any, Any, None], *, name: str, ended: Callable[[], None]
) -> AsyncIterator[asyncio.Task[None]]:
    """A task beside the body, cancelled when the body ends; ``ended`` is called when the task is
    done, and its failure is for the body to ask. For async generators, which may be closed by
    another task than the one that entered them: a TaskGroup does not allow that."""
    task = asyncio.create_task(work, name=name)
    task.add_done_callback(lambda _: ended())
    try:
        yield task
    finally:
        task.cancel()
        await asyncio.wait([task])
        if not task.cancelled():
            task.exception()  # retrieved here: a body that is left early does not ask for it


async def _stray(part_name: str) -> None:
    raise StrayCancellation(f"a CancelledError escaped; {part_name} was not cancelled")


def _as_coroutine(awaited: Awaitable[None]) -> Coroutine[Any, Any, None]:
    """As it is if it is one: a task cancelled before its first step would never await another."""
    return awaited if isinstance(awaited, Coroutine) else _waiting_for(awaited)


async def _waiting_for(awaited: Awaitable[None]) -> None:
    await awaited
