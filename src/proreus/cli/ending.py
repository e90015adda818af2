"""When a command is asked to end: by a signal, at any time from its first line on.

A server may take long to start: it waits for its store, reads all of it, loads its parts. Three
times follow each other, and a signal is never lost between two of them:

- before there is a loop nothing was opened, and the process just ends (``end_at_once``);
- while the command starts, its task is cancelled, and what was started ends in order;
- from the first ``wait`` on the command decides.

In each the exit code is 0: that was what the process was asked for.
"""

from __future__ import annotations

import asyncio
import signal
from contextlib import suppress
from types import TracebackType
from typing import Any, Literal

from proreus.cli.end_at_once import SIGNALS


class AskedToEnd(asyncio.Event):
    """Set once somebody asks this process to end. Within it, as a context, the task that entered it
    is cancelled if that happens before ``wait`` was called, and the context ends like a body that
    was done."""

    def __init__(self) -> None:
        super().__init__()
        self._starting: asyncio.Task[Any] | None = None
        self._has_cancelled = False

    async def __aenter__(self) -> AskedToEnd:
        self._starting = asyncio.current_task()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool:
        self._starting = None
        if not self._has_cancelled:
            return False
        is_delivered = isinstance(error, asyncio.CancelledError)
        if not is_delivered:
            with suppress(asyncio.CancelledError):
                await asyncio.sleep(0)  # it comes here, and not to what ends outside
        task = asyncio.current_task()
        assert task is not None
        task.uncancel()
        return is_delivered

    def set(self) -> None:
        starting, self._starting = self._starting, None
        super().set()
        if starting is not None:
            self._has_cancelled = True
            starting.cancel()

    async def wait(self) -> Literal[True]:
        self._starting = None
        if self._has_cancelled:
            await asyncio.sleep(0)  # if the cancellation is still to come, it comes here
        return await super().wait()


def ending(*signals: signal.Signals) -> AskedToEnd:
    """Set by one of these, or by any that means it."""
    asked = AskedToEnd()
    loop = asyncio.get_running_loop()
    for number in signals or SIGNALS:
        loop.add_signal_handler(number, asked.set)
    return asked
