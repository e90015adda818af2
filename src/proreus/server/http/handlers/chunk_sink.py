"""Where a watch over HTTP goes: chunks on a transport."""

from __future__ import annotations

import asyncio

from proreus.net.http1.messages import ChunkedStream, chunk_of
from proreus.server.watch_cache.view import Burst


class ChunkSink:
    """Bursts as chunks; the stream is set right after the watch was accepted.

    ``transport``: where their bytes can go without asking the stream, if they can.
    """

    __slots__ = ("_ended", "_stream", "transport")

    def __init__(self) -> None:
        self.transport: asyncio.Transport | None = None
        self._stream: ChunkedStream | None = None
        self._ended = False

    def begin(self, stream: ChunkedStream) -> None:
        self._stream = stream
        self.transport = stream.transport if stream.is_chunked else None

    def write(self, burst: Burst) -> None:
        transport = self.transport
        if transport is not None:
            if not transport.is_closing():
                transport.write(burst.encoded(chunk_of))
            return
        assert self._stream is not None, "nothing is written before the watch has begun"
        self._stream.write(burst.encoded(_plain))

    @property
    def buffered(self) -> int:
        if self.transport is not None:
            return self.transport.get_write_buffer_size()
        return self._stream.buffered if self._stream else 0

    def close(self) -> None:
        if self._stream is not None and not self._ended:
            self._ended = True
            self._stream.end()


def _plain(frames: bytes) -> bytes:
    return frames
