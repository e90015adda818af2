"""A watch over HTTP: subscriber → frames, chunked or as WebSocket messages (server.md §5).

Receives: Burst, from ``watch_cache/subscriber``.  Hands on: bytes, to the transport.
The handler only waits: events are written by the cache straight on the transport.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection as CollectionOf
from typing import TYPE_CHECKING, assert_never

from proreus.api.wire.options import ListOptions
from proreus.net.http1.messages import Answer, Response, Streamed, chunk_of
from proreus.net.tls.senders import Senders
from proreus.net.websocket import handshake
from proreus.server.http.exchange import Exchange
from proreus.server.http.handlers import gzip_sink
from proreus.server.http.handlers.answers import GZIPPED
from proreus.server.http.handlers.chunk_sink import ChunkSink
from proreus.server.http.handlers.event_stream import MEDIA, EventSink
from proreus.server.http.handlers.gzip_sink import GzipSink
from proreus.server.http.negotiation import Form, Media, StreamMedia, stream_media
from proreus.server.http.representation import Representation
from proreus.server.http.router import ResourceRoute
from proreus.server.http.services import Services
from proreus.server.registry.collection import Collection
from proreus.server.registry.verbs.select import watch_query
from proreus.server.watch_cache.query import Selection, WatchQuery
from proreus.server.watch_cache.subscriber import Subscriber
from proreus.server.watch_cache.view import Burst, Deliver, EncodingView, Sink, write_to_each

if TYPE_CHECKING:
    from proreus.net.websocket.stream import WebSocketStream

_ABANDONED_BYTES = 1024 * 1024
_MANY = 8  # sinks of one burst; fewer are written to one after another


class NoEventSink(ChunkSink):
    """Of a watch that asks for lists: an event is never one, so the first ends the stream."""

    __slots__ = ("subscriber",)

    def __init__(self) -> None:
        super().__init__()
        self.subscriber: Subscriber | None = None

    def write(self, burst: Burst) -> None:
        assert self.subscriber is not None, "nothing is written before the watch has begun"
        if self.subscriber.is_closed:
            super().write(burst)  # an error, which has one form
        else:
            # Not at once: the caller may be iterating over all watchers.
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
        is_behind = bool(transports) and senders.write_to_all(transports, burst.encoded(chunk_of))
        return is_behind or len(transports) < len(sinks)

    return deliver


class MessageSink:
    """One WebSocket message per event; in JSON it ends with a line feed, as in a stream.

    Frames that come while the handshake is answered wait for it.
    """

    __slots__ = ("_media", "_stream", "_waiting")

    def __init__(self, media: StreamMedia) -> None:
        self._stream: WebSocketStream | None = None
        self._media = media
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
        for frame in burst.data:
            match self._media:
                case Media.JSON:
                    self._stream.write_message(frame, binary=False)
                case Media.PROTOBUF:  # frames begin with their length, messages have their own
                    self._stream.write_message(frame[4:], binary=True)
                case Media.CBOR:
                    self._stream.write_message(frame, binary=True)
                case _:
                    assert_never(self._media)

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
    representation: Representation,
    selection: Selection,
    options: ListOptions,
    *,
    route: ResourceRoute,
) -> Answer:
    query = watch_query(selection, options, is_legacy=route.is_legacy_watch)
    if representation.refusal is not None:
        raise representation.refusal
    media = stream_media(representation.choice)
    content = ("Content-Type", MEDIA if exchange.is_event_stream else _content_type(media))
    if exchange.method == "HEAD":
        return Response(200, exchange.head(content=content))
    collection, opened = services.collection(route.resource), services.open_watches.open
    if handshake.is_upgrade(exchange.headers):
        messages = MessageSink(media)
        receiver = services.wrap_sink(exchange, messages)
        subscriber = await _begin(collection, query, representation.frames, receiver)
        exchange.seat.leave()
        with opened(exchange, collection, selection, subscriber, services.clock.monotonic()):
            return await _over_websocket(exchange, subscriber, messages)
    sink = _sink(exchange, representation, options)
    receiver = services.wrap_sink(exchange, sink)
    subscriber = await _begin(collection, query, representation.frames, receiver)
    exchange.seat.leave()
    if isinstance(sink, NoEventSink):
        sink.subscriber = subscriber
    try:
        extra = GZIPPED if isinstance(sink, GzipSink) else ()
        stream = exchange.request.open_stream(exchange.head(*extra, content=content))
        sink.begin(stream)
        with opened(exchange, collection, selection, subscriber, services.clock.monotonic()):
            await subscriber.wait_closed()
        sink.close()
        if sink.buffered > _ABANDONED_BYTES:
            # Its reader stopped reading; waiting until it takes the rest would hold the memory.
            stream.abort()
    finally:
        subscriber.close()
    return Streamed()


def _sink(exchange: Exchange, representation: Representation, options: ListOptions) -> ChunkSink:
    if representation.choice.form is Form.METADATA_LIST:
        return NoEventSink()
    if exchange.is_event_stream:
        return EventSink()
    return GzipSink() if gzip_sink.is_wanted(exchange, options) else ChunkSink()


async def _begin(
    collection: Collection, query: WatchQuery, view: EncodingView, sink: Sink
) -> Subscriber:
    versions = collection.resource.versions
    if versions is None:
        return await collection.cache.watch(query, view, sink)
    return await versions.watch(collection.cache, query, view, sink)


async def _over_websocket(exchange: Exchange, subscriber: Subscriber, sink: MessageSink) -> Answer:
    try:
        try:
            stream = handshake.accept_watch(exchange.request)
        except handshake.BadHandshake as error:
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


def _content_type(media: StreamMedia) -> str:
    match media:
        case Media.JSON:
            return media.value
        case Media.PROTOBUF:
            return f"{media};stream=watch"
        case Media.CBOR:
            return f"{media}-seq"
        case _:
            assert_never(media)
