"""A thread for one handler's blocking calls, used from the loop.

Handlers do not share threads: one that blocks for ever holds up no other. They do not use the
loop's default executor either, which resolves host names for every request: handlers that wait for
requests would fill it and wait for ever. The thread is a daemon, so that a handler which never
returns does not hold up the end of the process.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextvars
import queue
import threading
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class _Call:
    function: Callable[[], object]
    done: concurrent.futures.Future[None]

    def run(self) -> None:
        if not self.done.set_running_or_notify_cancel():
            return
        try:
            self.function()
        except Exception as failure:
            self.done.set_exception(failure)
        except BaseException as failure:
            # sys.exit() in a handler would end the loop, and all calls of the client with it.
            self.done.set_exception(RuntimeError(f"the handler raised {failure!r}"))
        else:
            self.done.set_result(None)


class WorkerThread:
    """Starts with the first call and ends after ``close``, once the call under way has returned."""

    def __init__(self, name: str) -> None:
        self._name = name
        # The loop hands over one call at a time and waits for its end: at most one waits here.
        self._calls: queue.SimpleQueue[_Call | None] = queue.SimpleQueue()
        self._is_started = False

    async def run(self, function: Callable[..., object], *args: object) -> None:
        """Call it on the thread and wait; cancelled, it stops waiting and the call goes on."""
        if not self._is_started:
            self._is_started = True
            threading.Thread(target=self._serve, name=self._name, daemon=True).start()
        context = contextvars.copy_context()
        call = _Call(lambda: context.run(function, *args), concurrent.futures.Future())
        self._calls.put(call)
        await asyncio.wrap_future(call.done)

    def close(self) -> None:
        """Idempotent; may be called on the thread itself."""
        self._calls.put(None)

    def _serve(self) -> None:
        while (call := self._calls.get()) is not None:
            call.run()
