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
        self._starting = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop: asyncio.Event | None = None
        self._thread: threading.Thread | None = None
        self._is_closed = False

    @property
    def is_closed(self) -> bool:
        return self._is_closed

    def call(self, work: Coroutine[Any, Any, _Result]) -> _Result:
        """Run a coroutine on the loop and wait for its result, or raise what it raises.

        If the wait is interrupted (Ctrl-C) the coroutine is cancelled.
        """
        try:
            loop = self._running_loop()
        except RuntimeError:
            work.close()
            raise
        future = asyncio.run_coroutine_threadsafe(work, loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

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

        loop = self._running_loop()
        holding = asyncio.run_coroutine_threadsafe(hold(), loop)
        try:
            value = opened.result()
        except BaseException:
            holding.cancel()
            raise
        try:
            yield value
        finally:
            loop.call_soon_threadsafe(leave.set)
            holding.result()

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

    def close(self) -> None:
        """Cancel what runs, end the loop and its thread. Idempotent."""
        with self._starting:
            self._is_closed = True
            thread, self._thread = self._thread, None
        if thread is None or os.getpid() != self._process:
            return
        assert self._loop is not None and self._stop is not None, "a thread has its loop"
        self._loop.call_soon_threadsafe(self._stop.set)
        thread.join()

    def _running_loop(self) -> asyncio.AbstractEventLoop:
        if os.getpid() != self._process:
            raise RuntimeError("this client was made before a fork; make a new one in the child")
        if threading.current_thread() is self._thread:
            raise RuntimeError("a blocking call on the client's own loop thread would never return")
        with self._starting:
            if self._is_closed:
                raise RuntimeError("the client is closed")
            if self._thread is None:
                self._start()
        assert self._loop is not None, "started"
        return self._loop

    def _start(self) -> None:
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
