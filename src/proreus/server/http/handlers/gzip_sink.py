"""A watch that begins with a list, compressed for clients that accept it (server.md §5.2).

Each burst is a gzip member of its own, so that it is made once for all watchers that get it:
nothing is kept per watcher. Its data is flushed before the member ends: Go's reader, client-go's,
holds what came with the end of a member back until the next one begins, and a watch whose state
and bookmark are there would wait for the next event. Cost: about 10 µs for each KiB.
"""

from __future__ import annotations

import zlib

from proreus.api.wire.options import ListOptions
from proreus.net.http1.messages import ChunkedStream
from proreus.server.http.exchange import Exchange
from proreus.server.http.handlers.answers import wants_gzip
from proreus.server.http.handlers.chunk_sink import ChunkSink
from proreus.server.watch_cache.view import Burst

_LEVEL = 1
_STORED = 0
_FORMAT = 31  # zlib's word for "with a gzip header"
# Bursts are 64 KiB or one object. More would hold the loop for too long and is packed as it is.
_COMPRESSED_BYTES_MAX = 128 * 1024


def is_wanted(exchange: Exchange, options: ListOptions) -> bool:
    """As kube-apiserver: only by a watch that asks for the state and its end, never by others."""
    asks_list = options.send_initial_events and options.allow_watch_bookmarks
    return bool(asks_list) and "sendInitialEvents" in exchange.query and wants_gzip(exchange)


class GzipSink(ChunkSink):
    """Bursts as gzip members."""

    __slots__ = ()

    def begin(self, stream: ChunkedStream) -> None:
        super().begin(stream)
        self.transport = None  # bytes of other watchers are not its own

    def write(self, burst: Burst) -> None:
        assert self._stream is not None, "nothing is written before the watch has begun"
        self._stream.write(burst.encoded(gzip_member))


def gzip_member(frames: bytes) -> bytes:
    level = _LEVEL if len(frames) <= _COMPRESSED_BYTES_MAX else _STORED
    packer = zlib.compressobj(level, zlib.DEFLATED, _FORMAT)
    return packer.compress(frames) + packer.flush(zlib.Z_SYNC_FLUSH) + packer.flush()
