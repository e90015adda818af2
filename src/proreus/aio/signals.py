"""Programs that end in good order when a signal asks them to."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Coroutine
from typing import Any

SIGNALS = (signal.SIGTERM, signal.SIGINT)


def run_until_signal(main: Coroutine[Any, Any, None]) -> signal.Signals | None:
    """``asyncio.run``, in which the first SIGTERM or SIGINT cancels ``main``, so that it can finish
    what it has begun and give back what it holds, a lease for example. A second one ends the
    process as if it were not handled.

    Returns the signal that ended ``main``; None if it ended by itself.
    """
    return asyncio.run(_run(main))


async def _run(main: Coroutine[Any, Any, None]) -> signal.Signals | None:
    loop = asyncio.get_running_loop()
    running = asyncio.ensure_future(main)
    received: list[signal.Signals] = []

    def end(number: signal.Signals) -> None:
        received.append(number)
        release()
        running.cancel()

    def release() -> None:
        for number in SIGNALS:
            loop.remove_signal_handler(number)

    for number in SIGNALS:
        loop.add_signal_handler(number, end, number)
    try:
        await running
    except asyncio.CancelledError:
        if not received:
            raise
    finally:
        release()
    return received[0] if received else None
