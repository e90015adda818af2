"""``settle``: until nothing more will happen. No sleeping, no polling.

Everything in the process counts that runs on the event loop: requests, watches, informers, queues,
users' own tasks. The loop itself says when it is at rest (``loop_idle``); what is left then are
timers. Those due before ``horizon`` are waited for: on a virtual clock by moving it to them, in
order, on the system's clock by waiting. So what retries with back-off has come to its end, and a
heartbeat every ten seconds does not keep anybody from settling.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable

from proreus.aio.clock import Clock, SystemClock
from proreus.testing.loop_idle import LoopIdle, NeverIdle
from proreus.testing.virtual_clock import VirtualClock, seconds

HORIZON = "1s"
TIMEOUT_S = 30.0
_TASKS_SHOWN = 20
_PIECES = 20  # of a quiet time
_OTHERS_S = 1.0  # within which another process sends the rest of a request

Describe = Callable[[], Iterable[str]]


class StillBusy(AssertionError):
    """Something always happens; the text says who is busy."""


async def settle(
    clock: Clock | None = None,
    *,
    horizon: float | str = HORIZON,
    timeout_s: float = TIMEOUT_S,
    describe: Describe = tuple,
) -> None:
    """Until nothing happens any more before ``horizon`` from now: see the module.

    ``timeout_s`` is real time. ``describe``: what to say beside the tasks if it is up. Raises
    StillBusy.
    """
    idle = LoopIdle.of(asyncio.get_running_loop())
    try:
        async with asyncio.timeout(timeout_s):
            if isinstance(clock, VirtualClock):
                until_s = clock.monotonic() + seconds(horizon)
                await clock.settle()
                while await clock.step(until_s):
                    pass
            else:
                await _rest_in_real_time(idle, clock or SystemClock(), seconds(horizon))
    except (TimeoutError, NeverIdle) as why:
        raise StillBusy(_report(why, timeout_s, idle, describe)) from None


async def settle_outside(
    signs_of_life: Callable[[], object],
    quiet_for: float | str,
    timeout_s: float,
    describe: Describe,
    *,
    held_up_s: Callable[[], float] = lambda: 0.0,
    clock: Clock | None = None,
) -> None:
    """Until ``signs_of_life`` were the same for so long, in real time. Raises StillBusy.

    Only time counts in which they could have come: not that for which the machine stood still,
    nor that for which who gives them was ``held_up_s`` so far, able to run and without a
    processor.
    """
    clock = clock or SystemClock()
    quiet_s, until_s = seconds(quiet_for), clock.monotonic() + timeout_s
    seen, before_s, left_s = signs_of_life(), held_up_s(), quiet_s
    while left_s > 0:
        if clock.monotonic() > until_s:
            raise StillBusy("\n  ".join([f"never quiet for {quiet_s:g} s", *describe()]))
        piece_s = min(left_s, quiet_s / _PIECES)
        await clock.sleep(piece_s)  # it may last longer, and counts as what was asked for
        found, now_held_s = signs_of_life(), held_up_s()
        left_s -= max(0.0, piece_s - abs(now_held_s - before_s))
        before_s = now_held_s
        if found != seen:
            seen, left_s = found, quiet_s


async def none_in_flight(describe: Describe) -> None:
    """A request that is in flight while all is at rest waits for a timer beyond the horizon, or for
    ever; unless it comes from another process, which may be about to send the rest of it. Raises
    StillBusy."""
    clock, waited_s = SystemClock(), 0.0
    while held := list(describe()):
        if waited_s >= _OTHERS_S:
            raise StillBusy("\n  ".join(["requests are in flight, and nothing moves them", *held]))
        await clock.sleep(_OTHERS_S / 20)
        waited_s += _OTHERS_S / 20


async def _rest_in_real_time(idle: LoopIdle, clock: Clock, horizon_s: float) -> None:
    until_s = clock.monotonic() + horizon_s
    while True:
        next_s = await idle.wait()
        if next_s is None or clock.monotonic() + next_s > until_s:
            return
        await clock.sleep(next_s)


def _report(why: Exception, timeout_s: float, idle: LoopIdle, describe: Describe) -> str:
    lines = [str(why) or f"not at rest after {timeout_s:g} s"]
    if idle.jobs:
        lines.append(f"{idle.jobs} jobs in threads")
    lines += describe()
    tasks = sorted(asyncio.all_tasks() - {asyncio.current_task()}, key=lambda task: task.get_name())
    lines += [f"task {_place(task)}" for task in tasks[:_TASKS_SHOWN]]
    if len(tasks) > _TASKS_SHOWN:
        lines.append(f"and {len(tasks) - _TASKS_SHOWN} more tasks")
    return "\n  ".join(lines)


def _place(task: asyncio.Task[object]) -> str:
    frames = task.get_stack(limit=1)
    where = f"{frames[-1].f_code.co_filename}:{frames[-1].f_lineno}" if frames else "nowhere"
    return f"{task.get_name()} at {where}"
