"""A container's log over HTTP: streamed from the runtime, with back-pressure."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from dataclasses import dataclass
from typing import cast

from proreus.aio.clock import Clock
from proreus.api.object import KubeObject
from proreus.api.status import BadRequest
from proreus.api.wire.log_options import PodLogOptions, decode_log_options
from proreus.api.wire.query import Query
from proreus.cluster.kubelet.runtimes.streams import (
    ContainerNotFound,
    LogOptions,
    LogStream,
    StreamError,
    Streams,
    Unsupported,
)
from proreus.cluster.kubelet.server.refusal import RequestRefused, has_container, log_unavailable
from proreus.net.http1.messages import Answer, ChunkedStream, Request, Streamed

# A followed log may stay silent for ever, and its reader wants to know that it is being followed;
# what goes wrong goes wrong sooner than this.
_SILENCE_S = 0.2
_CONTENT = ("Content-Type", "text/plain")


@dataclass(frozen=True, slots=True)
class LogAnswer:
    """Answers one request for the log of ``container`` in ``pod``."""

    streams: Streams
    clock: Clock
    pod: KubeObject
    container: str

    async def serve(self, request: Request, query: Query) -> Answer:
        """Raises RequestRefused before the first byte; what breaks later breaks the answer off."""
        options = _options(query)
        if not has_container(self.pod, self.container):
            where = f'"{self.container}" not found in pod "{self.pod.name}"'
            raise RequestRefused(404, f"container {where}\n")
        wanted = _wanted(options, self.clock.now())

        opened: list[ChunkedStream] = []

        def begin() -> None:
            if not opened:
                opened.append(request.open_stream((_CONTENT,)))

        timer = self.clock.call_later(_SILENCE_S, begin) if options.follow else None
        try:
            pieces = self.streams.logs(self.pod.uid, self.container, wanted)
            async with _closing(pieces):
                async for piece in pieces:
                    begin()
                    opened[0].write(piece)
                    await request.wait_written()
            begin()
            opened[0].end()
        except StreamError as error:
            if not opened:
                raise self._refused(error, options) from error
            opened[0].abort()
        finally:
            if timer is not None:
                timer.cancel()
        return Streamed()

    def _refused(self, error: StreamError, options: PodLogOptions) -> RequestRefused:
        match error:
            case Unsupported():
                return RequestRefused(501, str(error))
            case ContainerNotFound():
                return RequestRefused(
                    400, log_unavailable(self.pod, self.container, previous=options.previous)
                )
            case _:
                return RequestRefused(500, str(error))


def _options(query: Query) -> PodLogOptions:
    try:
        options = decode_log_options(query)
    except BadRequest as error:
        raise RequestRefused(400, '{"message": "Unable to decode query."}') from error
    if options.violations():
        raise RequestRefused(422, '{"message": "Invalid request."}')
    return options


def _wanted(options: PodLogOptions, now: float) -> LogOptions:
    return LogOptions(
        follow=options.follow,
        previous=options.previous,
        tail_lines=options.tail_lines,
        since=options.since(now),
        timestamps=options.timestamps,
        limit_bytes=options.limit_bytes,
        stream=cast(LogStream, options.stream),  # checked: one of the three
    )


def _closing(pieces: AsyncIterator[bytes]) -> aclosing[AsyncGenerator[bytes, None]]:
    """A reader that leaves must not leave the runtime's files open behind it."""
    return aclosing(cast("AsyncGenerator[bytes, None]", pieces))  # runtimes write generators
