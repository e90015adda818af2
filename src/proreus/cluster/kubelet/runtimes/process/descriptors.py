"""Pipes and terminals on the event loop: read when there is something, write when there is room."""

from __future__ import annotations

import asyncio
import errno
import os
from collections.abc import AsyncIterator

PIECE_BYTES = 64 * 1024


class DescriptorReader:
    """Iterate over pieces until the end. Who does not read holds up the writer at the other end."""

    def __init__(self, descriptor: int) -> None:
        os.set_blocking(descriptor, False)
        self._descriptor = descriptor
        self._is_closed = False
        self._ready: asyncio.Future[None] | None = None

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
                await self._wait_readable()
            except OSError as failure:
                if failure.errno != errno.EIO:  # how a terminal says that nobody holds it
                    raise
                return b""
        return b""

    def close(self) -> None:
        """Who waits in ``read`` is woken, and told that this is the end."""
        if self._is_closed:
            return
        self._is_closed = True
        if self._ready is not None:
            # At once: the number of a closed descriptor may belong to another a moment later.
            asyncio.get_running_loop().remove_reader(self._descriptor)
            _wake(self._ready)
        os.close(self._descriptor)

    async def _wait_readable(self) -> None:
        loop = asyncio.get_running_loop()
        self._ready = loop.create_future()
        loop.add_reader(self._descriptor, _wake, self._ready)
        try:
            await self._ready
        finally:
            self._ready = None
            if not self._is_closed:
                loop.remove_reader(self._descriptor)


class DescriptorWriter:
    """``write`` returns once everything is on its way; for a reader that left, it is lost."""

    def __init__(self, descriptor: int) -> None:
        os.set_blocking(descriptor, False)
        self._descriptor = descriptor
        self._is_closed = False
        self._ready: asyncio.Future[None] | None = None

    async def write(self, content: bytes) -> None:
        left = memoryview(content)
        while left and not self._is_closed:
            try:
                left = left[os.write(self._descriptor, left) :]
            except BlockingIOError:
                await self._wait_writable()
            except OSError:
                self.close()

    def close(self) -> None:
        if self._is_closed:
            return
        self._is_closed = True
        if self._ready is not None:
            asyncio.get_running_loop().remove_writer(self._descriptor)
            _wake(self._ready)
        os.close(self._descriptor)

    async def _wait_writable(self) -> None:
        loop = asyncio.get_running_loop()
        self._ready = loop.create_future()
        loop.add_writer(self._descriptor, _wake, self._ready)
        try:
            await self._ready
        finally:
            self._ready = None
            if not self._is_closed:
                loop.remove_writer(self._descriptor)


def _wake(ready: asyncio.Future[None]) -> None:
    if not ready.done():
        ready.set_result(None)
