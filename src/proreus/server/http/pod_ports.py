"""A port of a pod as a socket: one end of a pair, whose other end is the kubelet's port-forward.

The addresses of pods are the cluster's own and may mean nothing on the machine this server runs on;
their kubelet can always reach them.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

from proreus.aio.tasks import background
from proreus.api.wire import channels
from proreus.api.wire.channels import ChannelClosed
from proreus.lazy_dataclass import dataclass
from proreus.net.client.transport_error import TransportError

if TYPE_CHECKING:
    from proreus.net.client.websocket import ClientWebSocket

_PIECE_BYTES = 64 * 1024
_DATA, _ERROR = 0, 1


@dataclass(slots=True)
class PodSocket:
    """``failure`` says why the pod could not be reached, once that is known."""

    socket: socket.socket
    failure: str = ""


@contextlib.asynccontextmanager
async def as_socket(forward: ClientWebSocket) -> AsyncIterator[PodSocket]:
    """Of a port-forward of one port by ``v4.channel.k8s.io``. Its user closes the socket."""
    ours, theirs = socket.socketpair()
    for end in (ours, theirs):
        end.setblocking(False)
    opened = PodSocket(ours)
    with contextlib.closing(theirs):
        pumping = background(_to_pod(forward, theirs), _from_pod(forward, theirs, opened))
        await pumping.__aenter__()
        try:
            yield opened
        finally:
            # Without the body's failure: that is the caller's, a task group would wrap it.
            await pumping.__aexit__(None, None, None)
            ours.close()


async def _to_pod(forward: ClientWebSocket, source: socket.socket) -> None:
    loop = asyncio.get_running_loop()
    with contextlib.suppress(OSError, TransportError):  # the other direction says what is wrong
        while piece := await loop.sock_recv(source, _PIECE_BYTES):
            await forward.send(channels.V4.encode(_DATA, piece))


async def _from_pod(forward: ClientWebSocket, sink: socket.socket, opened: PodSocket) -> None:
    loop = asyncio.get_running_loop()
    announced: set[int] = set()
    with contextlib.suppress(OSError):
        try:
            while (raw := await forward.receive()) is not None:
                message = channels.V4.decode(raw)
                assert not isinstance(message, ChannelClosed), "this protocol closes nothing"
                if message.channel not in announced:
                    announced.add(message.channel)  # its first message names the port
                elif message.channel == _ERROR:
                    opened.failure = message.payload.decode("utf-8", "replace")
                    break
                else:
                    await loop.sock_sendall(sink, message.payload)
        except (TransportError, channels.ChannelError) as error:
            opened.failure = str(error)
        sink.shutdown(socket.SHUT_WR)
