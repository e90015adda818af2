"""A watch over HTTP: subscriber → frames, chunked or as WebSocket messages (spec/server §5).

Receives: Burst, from ``watch_cache/subscriber``.  Hands on: bytes, to the transport.
The handler only waits: events are written by the cache straight on the transport.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection as CollectionOf
from typing import TYPE_CHECKING

from proreus.api.wire.options import ListOptions
from proreus.net import websocket
from proreus.net.http_request import Answer, ChunkedStream, Response, Streamed
from proreus.net.senders import Senders
from proreus.server.http.exchange import Exchange
from proreus.server.http.negotiation import Media, negotiate_stream
from proreus.server.http.representation import Representation
from proreus.server.http.router import ResourceRoute
from proreus.server.http.services import Services
from proreus.server.registry.collection import Collection
from proreus.server.registry.verbs.select import watch_query
from proreus.server.watch_cache.query import Selection, WatchQuery
from proreus.server.watch_cache.subscriber import Subscriber
from proreus.server.watch_cache.view import Burst, Deliver, Sink, View, write_to_each

if TYPE_CHECKING:
    from proreus.net.websocket_stream import WebSocketStream

_ABANDONED_BYTES = 1024 * 1024
_MANY = 8  # sinks of one burst; fewer are written to one after another


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
        stream = self._stream
        assert stream is not None, "nothing is written before the watch has begun"
        if stream.is_chunked:
            stream.write_chunk(burst.http_chunk)
        else:
            stream.write(b"".join(burst.frames))

    @property
    def buffered(self) -> int:
        if self.transport is not None:
            return self.transport.get_write_buffer_size()
        return self._stream.buffered if self._stream else 0

    def close(self) -> None:
        if self._stream is not None and not self._ended:
            self._ended = True
            self._stream.end()


class NoEventSink(ChunkSink):
    """Of a watch that wants lists: no event can be shown as one, so the first ends the stream."""

    __slots__ = ("subscriber",)

    def __init__(self) -> None:
        super().__init__()
        self.subscriber: Subscriber | None = None

    def write(self, burst: Burst) -> None:
        assert self.subscriber is not None, "nothing is written before the watch has begun"
        if self.subscriber.is_closed:
            super().write(burst)  # an error, which is never shown as anything else
        else:
            # Not at once: whoever writes may be going through all watchers.
            asyncio.get_running_loop().call_soon(self.subscriber.close)


def delivery(senders: Senders) -> Deliver:
    """Bursts for many: the chunks among them are sent together."""

    def deliver(sinks: CollectionOf[Sink], burst: Burst) -> bool:
        if len(sinks) < _MANY:
            return write_to_each(sinks, burst)
        transports: list[asyncio.Transport] = []
        for sink in sinks:
            if type(sink) is ChunkSink and sink.transport is not None:
                transports.append(sink.transport)
            else:
                sink.write(burst)
        is_behind = bool(transports) and senders.write_to_all(transports, burst.http_chunk)
        return is_behind or len(transports) < len(sinks)

    return deliver


class MessageSink:
    """One WebSocket message per event; in JSON it ends with a line feed, as in a stream.

    Frames that come while the handshake is answered wait for it.
    """

    __slots__ = ("_binary", "_stream", "_waiting")

    def __init__(self, *, binary: bool) -> None:
        self._stream: WebSocketStream | None = None
        self._binary = binary
        self._waiting: list[Burst] = []

    def begin(self, stream: WebSocketStream) -> None:
        self._stream = stream
        for burst in self._waiting:
            self.write(burst)
        self._waiting.clear()

    def write(self, burst: Burst) -> None:
        if self._stream is None:
            self._waiting.append(burst)
            return
        for frame in burst.frames:
            # Protobuf frames begin with their length, which a message does not need.
            payload = frame[4:] if self._binary else frame
            self._stream.write_message(payload, binary=self._binary)

    @property
    def buffered(self) -> int:
        if self._stream is None:
            return sum(len(frame) for burst in self._waiting for frame in burst.frames)
        return self._stream.buffered

    def close(self) -> None:
        return None


async def watch(
    services: Services,
    exchange: Exchange,
    shown: Representation,
    selection: Selection,
    options: ListOptions,
    *,
    route: ResourceRoute,
) -> Answer:
    query = watch_query(selection, options, is_legacy=route.is_legacy_watch)
    if shown.refusal is not None:
        raise shown.refusal
    negotiate_stream(shown.choice)
    content = ("Content-Type", _stream_type(shown.choice.media))
    if exchange.method == "HEAD":
        return Response(200, exchange.head(content=content))
    collection = services.collection(route.resource)
    if websocket.is_upgrade(exchange.headers):
        messages = MessageSink(binary=shown.choice.media is Media.PROTOBUF)
        subscriber = await _begin(collection, query, shown.frames, messages)
        return await _over_websocket(exchange, subscriber, messages)
    sink = NoEventSink() if shown.choice.kind == "PartialObjectMetadataList" else ChunkSink()
    subscriber = await _begin(collection, query, shown.frames, sink)
    if isinstance(sink, NoEventSink):
        sink.subscriber = subscriber
    try:
        stream = exchange.request.open_stream(exchange.head(content=content), services.date())
        sink.begin(stream)
        await subscriber.wait_closed()
        sink.close()
        if sink.buffered > _ABANDONED_BYTES:
            # Its reader stopped reading; waiting until it takes the rest would hold the memory.
            stream.abort()
    finally:
        subscriber.close()
    return Streamed()


async def _begin(collection: Collection, query: WatchQuery, view: View, sink: Sink) -> Subscriber:
    versions = collection.resource.versions
    if versions is None:
        return await collection.cache.watch(query, view, sink)
    return await versions.watch(collection.cache, query, view, sink)


async def _over_websocket(exchange: Exchange, subscriber: Subscriber, sink: MessageSink) -> Answer:
    try:
        try:
            stream = websocket.accept_watch(exchange.request)
        except websocket.BadHandshake as error:
            return Response(
                error.status,
                exchange.head(content=("Content-Type", "text/plain; charset=utf-8")),
                str(error).encode(),
                close=True,
            )
        sink.begin(stream)
        async with asyncio.TaskGroup() as ends:
            served = ends.create_task(subscriber.wait_closed())
            left = ends.create_task(stream.wait_client_close())
            await asyncio.wait((served, left), return_when=asyncio.FIRST_COMPLETED)
            served.cancel()
            left.cancel()
        if stream.buffered > _ABANDONED_BYTES:
            stream.abort()
        await stream.close()
    finally:
        subscriber.close()
    return Streamed(keep_alive=False)


def _stream_type(media: Media) -> str:
    return f"{media};stream=watch" if media is Media.PROTOBUF else media.value
