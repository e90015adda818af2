"""The event loop of a command, and the signals that end it."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Coroutine
from typing import Any

from proreus.cli.tuning import allow_many_files, collect_seldom, keep_small_buffers


def run(main: Coroutine[Any, Any, None]) -> None:
    """On uvloop where it is installed."""
    keep_small_buffers()
    collect_seldom()
    allow_many_files()
    try:
        import uvloop
    except ImportError:
        asyncio.run(main)
    else:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(main)


def ending(*signals: signal.Signals) -> asyncio.Event:
    """Set once somebody asks this process to end, by one of these or by any that means it."""
    asked = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in signals or (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, asked.set)
    return asked
