"""The event loop of a command."""

from __future__ import annotations

import asyncio
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
            runner.get_loop().set_exception_handler(report_failure)
            runner.run(main)


def report_failure(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """As loops do, but for one thing: uvloop's TLS answers once more on a connection that is
    closed by then, as those are that begin when the program ends, and calls that fatal. Nothing
    is lost by it, and nobody could do anything about it."""
    failure = context.get("exception")
    # The loop has closed it, so that its transport does not say that it is closing.
    if isinstance(failure, RuntimeError) and str(failure).endswith("; the handler is closed"):
        return
    loop.default_exception_handler(context)
