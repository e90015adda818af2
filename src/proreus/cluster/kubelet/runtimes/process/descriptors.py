"""Pipes and terminals on the event loop, read and written without blocking."""

from __future__ import annotations

import asyncio
import errno
import os
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator

PIECE_BYTES = 64 * 1024


class _Descriptor(ABC):
    """A descriptor without blocking; ``close`` wakes who waits for it."""

    def __init__(self, descriptor: int) -> None:
        os.set_blocking(descriptor, False)
        self._descriptor = descriptor
        self._is_closed = False
        self._ready: asyncio.Future[None] | None = None

    def close(self) -> None:
        if self._is_closed:
            return
        self._is_closed = True
        if self._ready is not None:
            # At once: the number of a closed descriptor may soon belong to another.
            self._unregister(asyncio.get_running_loop())
            _wake(self._ready)
        os.close(self._descriptor)

    async def _wait_ready(self) -> None:
        loop = asyncio.get_running_loop()
        self._ready = loop.create_future()
        self._register(loop, self._ready)
        try:
            await self._ready
        finally:
            self._ready = None
            if not self._is_closed:
                self._unregister(loop)

    @abstractmethod
    def _register(self, loop: asyncio.AbstractEventLoop, ready: asyncio.Future[None]) -> None: ...

    @abstractmethod
    def _unregister(self, loop: asyncio.AbstractEventLoop) -> None: ...


class DescriptorReader(_Descriptor):
    """Iterate over pieces until the end. A reader that does not read blocks the writer."""

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        if piece := await self.read():
            return piece
        raise StopAsyncIteration

    async def read(self) -> bytes:
        """Empty at the end. Others get their turn also when there is always more to read."""
        await asyncio.sleep(0)
        while not self._is_closed:
            try:
                return os.read(self._descriptor, PIECE_BYTES)
            except BlockingIOError:
                await self._wait_ready()
            except OSError as failure:
                if failure.errno != errno.EIO:  # how a terminal says that no process holds it
                    raise
                return b""
        return b""

    def _register(self, loop: asyncio.AbstractEventLoop, ready: asyncio.Future[None]) -> None:
        loop.add_reader(self._descriptor, _wake, ready)

    def _unregister(self, loop: asyncio.AbstractEventLoop) -> None:
        loop.remove_reader(self._descriptor)


class DescriptorWriter(_Descriptor):
    """``write`` returns once everything is written; what a closed reader misses is lost."""

    async def write(self, content: bytes) -> None:
        left = memoryview(content)
        while left and not self._is_closed:
            try:
                left = left[os.write(self._descriptor, left) :]
            except BlockingIOError:
                await self._wait_ready()
            except OSError:
                self.close()

    def _register(self, loop: asyncio.AbstractEventLoop, ready: asyncio.Future[None]) -> None:
        loop.add_writer(self._descriptor, _wake, ready)

    def _unregister(self, loop: asyncio.AbstractEventLoop) -> None:
        loop.remove_writer(self._descriptor)


def _wake(ready: asyncio.Future[None]) -> None:
    if not ready.done():
        ready.set_result(None)
