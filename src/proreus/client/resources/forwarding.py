"""A port of a pod on this machine: a listener, and a WebSocket for every connection to it."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
from collections.abc import AsyncIterator
from functools import partial
from typing import TYPE_CHECKING

from proreus.aio.tasks import background
from proreus.api.status import ApiError
from proreus.api.wire import channels
from proreus.api.wire.channels import ChannelMessage
from proreus.client.rest.client import RestClient
from proreus.client.rest.request import RestRequest
from proreus.net.client.transport_error import TransportError

if TYPE_CHECKING:
    from proreus.net.client.websocket import ClientWebSocket

log = logging.getLogger(__name__)

_HOST = "127.0.0.1"
_PIECE_BYTES = 32 * 1024
_DATA, _ERROR = 0, 1


@contextlib.asynccontextmanager
async def listening(rest: RestClient, request: RestRequest, port: int) -> AsyncIterator[int]:
    """Yields the port; raises OSError if it is taken."""
    with socket.create_server((_HOST, port)) as listener:
        listener.setblocking(False)
        accepting = background(_accept(rest, request, listener))
        await accepting.__aenter__()
        try:
            yield listener.getsockname()[1]
        finally:
            # Without the body's failure: that is the caller's, a task group would wrap it.
            await accepting.__aexit__(None, None, None)


async def _accept(rest: RestClient, request: RestRequest, listener: socket.socket) -> None:
    loop = asyncio.get_running_loop()
    async with asyncio.TaskGroup() as connections:
        while True:
            accepted, _ = await loop.sock_accept(listener)
            reader, writer = await asyncio.open_connection(sock=accepted)
            serving = connections.create_task(_serve(rest, request, reader, writer))
            # Not in the task: one that is cancelled before it starts would never close it.
            serving.add_done_callback(partial(_close, writer))


def _close(writer: asyncio.StreamWriter, _: asyncio.Task[None]) -> None:
    writer.close()


async def _serve(
    rest: RestClient,
    request: RestRequest,
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
) -> None:
    try:
        async with rest.open_websocket(request, [channels.V4.name]) as opened:
            await _exchange(opened, reader, writer)
    except (ApiError, TransportError) as failure:
        log.warning("port-forward failed: %s", failure)


async def _exchange(
    opened: ClientWebSocket, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> None:
    """Until the pod has said all; who sends no more may still want to hear it."""
    failures: list[TransportError] = []

    async def send() -> None:
        try:
            with contextlib.suppress(OSError):
                while piece := await reader.read(_PIECE_BYTES):
                    await opened.send(channels.V4.encode(_DATA, piece))
        except TransportError as failure:
            failures.append(failure)

    async def receive() -> None:
        announced: set[int] = set()
        try:
            with contextlib.suppress(OSError):
                while (raw := await opened.receive()) is not None:
                    message = channels.V4.decode(raw)
                    assert isinstance(message, ChannelMessage), "this protocol closes nothing"
                    if message.channel not in announced:
                        announced.add(message.channel)  # its first message names the port
                    elif message.channel == _ERROR:
                        said = message.payload.decode("utf-8", "replace")
                        log.warning("port-forward failed: %s", said)
                        return
                    else:
                        writer.write(message.payload)
                        await writer.drain()
        except TransportError as failure:
            failures.append(failure)

    async with asyncio.TaskGroup() as both:
        sending = both.create_task(send())
        await receive()
        sending.cancel()
    if failures:
        raise failures[0]
