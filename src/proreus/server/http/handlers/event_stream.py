"""Watches as Server-Sent Events, which browsers read and resume by themselves (EventSource).

    id: 42
    event: MODIFIED
    data: {"type":"MODIFIED","object":{…}}

The id is the resource version. A browser that lost its connection sends the last one it saw, and
the watch goes on after it. Every event is the JSON of any other watch; it is made once for all
watchers of a burst.
"""

from __future__ import annotations

from multidict import CIMultiDict, CIMultiDictProxy

from proreus.api.wire import json
from proreus.net.http1.messages import ChunkedStream
from proreus.server.http.exchange import Exchange
from proreus.server.http.handlers.chunk_sink import ChunkSink
from proreus.server.watch_cache.view import Burst

MEDIA = "text/event-stream"
_JSON = "application/json"
_AGAIN = b"retry: 1000\n\n"  # milliseconds; it also says that the stream has begun


def is_asked(accept: str) -> bool:
    return accept.startswith(MEDIA)


def adopt(exchange: Exchange) -> str:
    """From here on it is a watch in JSON, after the event that the browser saw last. Returns what
    is accepted then."""
    exchange.is_event_stream = True
    headers = CIMultiDict(exchange.headers)
    headers["Accept"] = _JSON
    exchange.headers = CIMultiDictProxy(headers)
    if last := headers.get("Last-Event-ID", ""):
        exchange.resume_after(last)
    return _JSON


class EventSink(ChunkSink):
    """Bursts as Server-Sent Events."""

    __slots__ = ()

    def begin(self, stream: ChunkedStream) -> None:
        super().begin(stream)
        self.transport = None  # bytes of other watchers are not its own
        stream.write(_AGAIN)

    def write(self, burst: Burst) -> None:
        assert self._stream is not None, "nothing is written before the watch has begun"
        self._stream.write(burst.encoded(as_events))


def as_events(frames: bytes) -> bytes:
    return b"".join(map(_event, frames.splitlines()))


def _event(frame: bytes) -> bytes:
    found = json.decode(frame)
    version = (found["object"].get("metadata") or {}).get("resourceVersion")
    about = f"id: {version}\n" if version else ""
    return f"{about}event: {found['type']}\ndata: ".encode() + frame + b"\n\n"
