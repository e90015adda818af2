"""An event loop on a thread of its own, and the ways to use it from others."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import os
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import AbstractAsyncContextManager
from typing import Any, TypeVar

_Result = TypeVar("_Result")


class LoopThread:
    """Started by the first use, ended by ``close``; a daemon, so that it never holds up an exit."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._process = os.getpid()
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop: asyncio.Event | None = None
        self._thread: threading.Thread | None = None
        self._is_closed = False

    def call(self, work: Coroutine[Any, Any, _Result]) -> _Result:
        """Run a coroutine on the loop and wait for its result, or raise what it raises.

        If the wait is interrupted (Ctrl-C) the coroutine is cancelled.
        """
        _, future = self._submit(work)
        try:
            return future.result()
        except concurrent.futures.CancelledError as cancelled:
            if self._is_closed:
                raise RuntimeError("the client was closed during the call") from cancelled
            raise
        except BaseException:
            future.cancel()
            raise

    def submit(self, work: Coroutine[Any, Any, _Result]) -> concurrent.futures.Future[_Result]:
        """Run a coroutine on the loop, without waiting for it."""
        return self._submit(work)[1]

    def run(self, work: Callable[[], _Result]) -> _Result:
        """Call a plain function on the loop, for parts that only the loop may touch."""

        async def on_loop() -> _Result:
            return work()

        return self.call(on_loop())

    @contextlib.contextmanager
    def held(self, resource: AbstractAsyncContextManager[_Result]) -> Iterator[_Result]:
        """An async context manager as a plain one.

        One task enters and leaves it, because task groups and deadlines inside demand that.
        """
        opened: concurrent.futures.Future[_Result] = concurrent.futures.Future()
        leave = asyncio.Event()

        async def hold() -> None:
            try:
                async with resource as value:
                    opened.set_result(value)
                    await leave.wait()
            except BaseException as failure:
                if opened.done():
                    raise
                opened.set_exception(failure)

        loop, holding = self._submit(hold())
        # Cancelled before its first step it would never say so itself.
        holding.add_done_callback(lambda _: opened.cancel())
        try:
            value = opened.result()
        except BaseException:
            holding.cancel()
            raise
        try:
            yield value
        finally:
            self._leave(loop, leave, holding)

    def iterated(self, source: AsyncIterator[_Result]) -> Iterator[_Result]:
        """An async iterator as a plain one; nothing is fetched ahead."""

        async def following() -> tuple[bool, _Result | None]:
            try:
                return True, await anext(source)
            except StopAsyncIteration:
                return False, None

        while True:
            has_more, value = self.call(following())
            if not has_more:
                return
            yield value  # type: ignore[misc]  # there is one: has_more says so

    def close(self, last: Callable[[], Coroutine[Any, Any, None]] | None = None) -> None:
        """Run ``last``, cancel what runs, end the loop and its thread.

        Any thread may call it, any number of times, and all but the loop's own wait for the end.
        """
        with self._lock:
            is_first, self._is_closed = not self._is_closed, True
            thread, loop = self._thread, self._loop
            if thread is None or loop is None or os.getpid() != self._process:
                return
            if is_first:
                asyncio.run_coroutine_threadsafe(self._end(last), loop)
        if thread is not threading.current_thread():
            thread.join()

    async def _end(self, last: Callable[[], Coroutine[Any, Any, None]] | None) -> None:
        assert self._stop is not None, "a running loop has it"
        try:
            if last is not None:
                await last()
        finally:
            self._stop.set()

    def _leave(
        self,
        loop: asyncio.AbstractEventLoop,
        leave: asyncio.Event,
        holding: concurrent.futures.Future[None],
    ) -> None:
        try:
            loop.call_soon_threadsafe(leave.set)
        except RuntimeError:  # the loop is closed, and with it what was held
            return
        try:
            holding.result()
        except concurrent.futures.CancelledError:
            if not self._is_closed:
                raise

    def _submit(
        self, work: Coroutine[Any, Any, _Result]
    ) -> tuple[asyncio.AbstractEventLoop, concurrent.futures.Future[_Result]]:
        try:
            if os.getpid() != self._process:
                raise RuntimeError("this client was made before a fork; make one in the child")
            if threading.current_thread() is self._thread:
                raise RuntimeError(
                    "a blocking call on the client's own loop thread would never return"
                )
            # Handed over under the lock, so that what comes before ``close`` is there to be
            # cancelled by it: what came later would wait for ever on a loop that has ended.
            with self._lock:
                if self._is_closed:
                    raise RuntimeError("the client is closed")
                loop = self._loop or self._start()
                return loop, asyncio.run_coroutine_threadsafe(work, loop)
        except RuntimeError:
            work.close()
            raise

    def _start(self) -> asyncio.AbstractEventLoop:
        started = threading.Event()

        async def serve() -> None:
            self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
            started.set()
            await self._stop.wait()

        def main() -> None:
            with asyncio.Runner() as runner:  # cancels the tasks that are left, closes the loop
                runner.run(serve())

        self._thread = threading.Thread(target=main, name=self._name, daemon=True)
        self._thread.start()
        started.wait()
        assert self._loop is not None, "it has started"
        return self._loop
