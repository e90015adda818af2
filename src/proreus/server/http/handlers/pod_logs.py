"""``pods/log``: the log of a container, from its node's kubelet to the client, piece by piece.

Nothing is held back: a piece is read from the kubelet when the client has taken the one before, so
a slow reader slows the kubelet, and one that leaves closes the way to it. A client that asks for a
WebSocket has a message for each piece, behind an empty first one.
"""

from __future__ import annotations

import asyncio
import base64
from typing import TYPE_CHECKING

from proreus.api.group_version import GroupKind, GroupResource
from proreus.api.json_types import JsonObject
from proreus.api.status import Invalid, NotFound, PlainError
from proreus.api.wire import channels, splice
from proreus.api.wire.log_options import decode_log_options
from proreus.net.client.transport_error import TransportError
from proreus.net.http1.messages import Answer, Response, Streamed
from proreus.net.websocket import handshake
from proreus.server.http.exchange import Exchange
from proreus.server.http.handlers.get import read_object
from proreus.server.http.kubelets import ANSWER_S, KubeletAddress, refusal
from proreus.server.http.router import ResourceRoute
from proreus.server.http.services import Services
from proreus.server.registry.subresources.containers import choose_container

if TYPE_CHECKING:
    from proreus.net.client.http_client import ByteStream
    from proreus.net.websocket.stream import WebSocketStream

_OPTIONS = GroupKind("", "PodLogOptions")
_LOG = GroupResource("", "pods/log")
_CONTENT = ("Content-Type", "text/plain")


async def get_log(services: Services, exchange: Exchange, route: ResourceRoute) -> Answer:
    options = decode_log_options(exchange.query)
    if found := options.violations():
        raise Invalid.of(_OPTIONS, route.name, found)
    pod = await read_live(services, route)
    container = choose_container(pod, options.container)
    node = pod["spec"].get("nodeName")
    if not node:
        head = exchange.head(content=_CONTENT)
        return Response(204, tuple(header for header in head if header is not _CONTENT))
    kubelet = await services.kubelets.of_node(node, route.resource.group_resource)
    url = kubelet.url(
        "containerLogs", route.namespace, route.name, container, query=options.encode()
    )
    try:
        # A log that is followed may have nothing to say for a long time.
        patience_s = None if options.follow else ANSWER_S
        return await _copied(services, exchange, url, route.name, patience_s)
    except TransportError as error:
        raise _unreachable(kubelet, error) from error


async def read_live(services: Services, route: ResourceRoute) -> JsonObject:
    """The newest state of what the route names. Raises NotFound."""
    collection = services.collection(route.resource)
    found = await read_object(collection, collection.key(route.namespace, route.name))
    if found is None:
        raise NotFound.of(route.resource.group_resource, route.name)
    return splice.decode_item(found.item)


async def _copied(
    services: Services, exchange: Exchange, url: str, name: str, patience_s: float | None
) -> Answer:
    """Raises TransportError and ApiError as long as nothing was answered."""
    async with services.kubelets.stream("GET", url, {}, None, patience_s=patience_s) as log:
        if log.status != 200:
            raise await refusal(log, _LOG, name)
        if handshake.is_upgrade(exchange.headers):
            return await _over_websocket(exchange, log)
        request = exchange.request
        answer = request.open_stream(exchange.head(content=_CONTENT))
        try:
            while piece := await log.next_chunk():
                answer.write(piece)
                await request.wait_written()
        except TransportError:
            # The head is gone long since: only a broken answer can say that this is not the end.
            answer.abort()
            return Streamed(keep_alive=False)
        answer.end()
    return Streamed()


async def _over_websocket(exchange: Exchange, log: ByteStream) -> Answer:
    offered = handshake.offered_protocols(exchange.request)
    protocol = channels.choose(offered, channels.LOG_PROTOCOLS)
    if protocol is None:
        return exchange.text(403, f"requested protocol(s) are not supported: {offered}")
    try:
        client = handshake.accept(exchange.request, protocol=protocol.name)
    except handshake.BadHandshake as error:
        return exchange.text(error.status, str(error))
    async with asyncio.TaskGroup() as ends:
        copied = ends.create_task(_copy_messages(client, log, is_base64=protocol.is_base64))
        left = ends.create_task(client.wait_client_close())
        await asyncio.wait((copied, left), return_when=asyncio.FIRST_COMPLETED)
        copied.cancel()
        left.cancel()
    await client.close()
    return Streamed(keep_alive=False)


async def _copy_messages(client: WebSocketStream, log: ByteStream, *, is_base64: bool) -> None:
    """Until the log ends; a client that has left is noticed by who reads its messages."""
    try:
        await client.send("" if is_base64 else b"")
        while piece := await log.next_chunk():
            await client.send(base64.b64encode(piece).decode() if is_base64 else piece)
    except TransportError:
        client.abort()  # not the end of the log
    except ConnectionError:
        return


def _unreachable(kubelet: KubeletAddress, error: TransportError) -> PlainError:
    return PlainError(kubelet.failure(error))
