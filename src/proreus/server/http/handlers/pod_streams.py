"""``pods/exec``, ``pods/attach`` and ``pods/portforward``: a WebSocket through to the kubelet.

    client ⇄ (v5.channel.k8s.io, …) ⇄ here ⇄ the same protocol ⇄ kubelet

Messages are passed on one by one, long ones in pieces, and neither end is read faster than the
other takes them: a stream that is not read holds the same small buffers however much comes. When
one end closes, so does the other. A command's failure is sent on its error channel once the
handshake is done, since clients report only that; a port-forward has no such channel and is
refused.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from msgspec.structs import replace as changed

from proreus.aio.clock import Clock
from proreus.api.group_version import GroupResource
from proreus.api.status import ApiError, BadRequest, Forbidden, InternalError
from proreus.api.wire import channels, json
from proreus.api.wire.channels import ChannelProtocol
from proreus.net.client.transport_error import TransportError
from proreus.net.http1.messages import Answer, Response, Streamed
from proreus.net.websocket import handshake
from proreus.net.websocket.keepalive import wait_silent
from proreus.server.authz.authorizer import Decision
from proreus.server.http.exchange import Exchange
from proreus.server.http.handlers.connecting import ConnectOptions, admit_connection
from proreus.server.http.handlers.pod_logs import read_live
from proreus.server.http.kubelets import KubeletAddress, error_of
from proreus.server.http.router import ResourceRoute
from proreus.server.http.services import Services
from proreus.server.http.stages.authorization import requested_action
from proreus.server.registry.subresources.containers import choose_container

if TYPE_CHECKING:
    from proreus.net.client.websocket import ClientWebSocket
    from proreus.net.websocket.stream import WebSocketStream

_STREAMS = (("stdin", "input"), ("stdout", "output"), ("stderr", "error"), ("tty", "tty"))
_PORTS_MAX = 127  # two channels each, numbered by one byte
_SPDY = (
    "SPDY/3.1 is not served: streams go over WebSocket, with the subprotocol {}. kubectl 1.31 and "
    "later speak it, {} with {}=true in the environment"
)
_COMMANDS = _SPDY.format(channels.V5.name, "1.29 and 1.30", "KUBECTL_REMOTE_COMMAND_WEBSOCKETS")
_FORWARDS = _SPDY.format(channels.SPDY_TUNNEL.name, "1.30", "KUBECTL_PORT_FORWARD_WEBSOCKETS")


async def connect_command(services: Services, exchange: Exchange, route: ResourceRoute) -> Answer:
    """exec and attach."""
    assert route.subresource is not None, "routed by it"
    options = await admit_connection(services, exchange, route)
    await _check_creation(services, exchange, route)
    verb = route.subresource.name
    pod = await read_live(services, route)
    container = choose_container(pod, options.container)
    kubelet = await _kubelet(services, route, pod["spec"].get("nodeName"))
    query = _command_query(options)
    url = kubelet.url(verb, route.namespace, route.name, container, query=query)
    protocol = await _agreed(services, exchange, kubelet, channels.COMMAND_PROTOCOLS, _COMMANDS)
    client = _accepted(exchange, protocol)
    if isinstance(client, Response):
        return client
    broken = await _run_command(services, client, kubelet, url, protocol)
    if broken:
        _write_failure(client, protocol, InternalError.of(broken))
    await client.close()
    return Streamed(keep_alive=False)


async def _run_command(
    services: Services,
    client: WebSocketStream,
    kubelet: KubeletAddress,
    url: str,
    protocol: ChannelProtocol,
) -> str:
    """Returns why it could not begin or broke off, "" if it ended properly or its client left."""
    async with AsyncExitStack() as opened:
        try:
            socket = await _dial(services, opened, url, protocol)
        except TransportError as error:
            return f"error dialing backend: {kubelet.dial_failure(error)}"
        except _Refused as refused:
            return f"unable to upgrade connection: {refused}"
        return await _relay(client, socket, services.clock)


async def connect_ports(services: Services, exchange: Exchange, route: ResourceRoute) -> Answer:
    options = await admit_connection(services, exchange, route)
    await _check_creation(services, exchange, route)
    pod = await read_live(services, route)
    ports = _wanted_ports(options)
    kubelet = await _kubelet(services, route, pod["spec"].get("nodeName"))
    query = urlencode({"port": ",".join(map(str, ports))}) if ports else ""
    url = kubelet.url("portForward", route.namespace, route.name, query=query)
    protocol = await _agreed(services, exchange, kubelet, channels.FORWARD_PROTOCOLS, _FORWARDS)
    async with AsyncExitStack() as opened:
        try:
            socket = await _dial(services, opened, url, protocol)
        except TransportError as error:
            failure = kubelet.dial_failure(error)
            raise InternalError.of(f"error dialing backend: {failure}") from error
        except _Refused as refused:
            resource = GroupResource("", "pods/portforward")
            raise error_of(refused.code, str(refused), resource, route.name) from refused
        client = _accepted(exchange, protocol)
        if isinstance(client, Response):
            return client
        if await _relay(client, socket, services.clock):
            client.abort()
        await client.close()
    return Streamed(keep_alive=False)


async def _check_creation(services: Services, exchange: Exchange, route: ResourceRoute) -> None:
    """To begin a stream is to create one, whichever method a WebSocket must use."""
    if exchange.method == "POST":
        return
    wanted = changed(requested_action(exchange), verb="create")
    verdict = await services.authorization.decided(wanted)
    if verdict.decision is not Decision.ALLOW:
        raise Forbidden.of(GroupResource("", "pods"), route.name, "")


class _Refused(Exception):
    """The kubelet's answer to our handshake."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(text.strip())
        self.code = code


async def _kubelet(services: Services, route: ResourceRoute, node: str | None) -> KubeletAddress:
    if not node:
        raise BadRequest(f"pod {route.name} does not have a host assigned")
    return await services.kubelets.of_node(node, route.resource.group_resource)


async def _agreed(
    services: Services,
    exchange: Exchange,
    kubelet: KubeletAddress,
    served: Sequence[ChannelProtocol],
    instead: str,
) -> ChannelProtocol:
    """The protocol that both ends know. Raises BadRequest."""
    upgrade = exchange.headers.get("Upgrade", "")
    if upgrade.lower().startswith("spdy/"):
        # kubectl comes this way after its WebSocket failed, and prints this message.
        await _check_reachable(services, kubelet)
        raise BadRequest(instead)
    if not handshake.is_upgrade(exchange.headers):
        raise BadRequest("Upgrade request required")
    offered = handshake.offered_protocols(exchange.request)
    protocol = channels.choose(offered, served)
    if protocol is None:
        names = " ".join(one.name for one in served if one.name)
        raise BadRequest(
            f"unable to upgrade: the requested protocols [{' '.join(offered)}] are not supported; "
            f"supported are [{names}]"
        )
    return protocol


async def _check_reachable(services: Services, kubelet: KubeletAddress) -> None:
    try:
        async with services.kubelets.stream("GET", kubelet.url("healthz"), {}, None):
            return
    except TransportError as error:
        raise InternalError.of(f"error dialing backend: {kubelet.dial_failure(error)}") from error


async def _dial(
    services: Services, opened: AsyncExitStack, url: str, protocol: ChannelProtocol
) -> ClientWebSocket:
    """Raises TransportError, _Refused."""
    from proreus.net.client.http_client import UpgradeRefused

    offered = [protocol.name] if protocol.name else []
    try:
        return await opened.enter_async_context(services.kubelets.websocket(url, offered))
    except UpgradeRefused as refused:
        answer = refused.response
        raise _Refused(answer.status, answer.body.decode("utf-8", "replace")) from refused


def _accepted(exchange: Exchange, protocol: ChannelProtocol) -> WebSocketStream | Response:
    try:
        return handshake.accept_stream(
            exchange.request, protocol=protocol.name, prefix_bytes=protocol.prefix_bytes
        )
    except handshake.BadHandshake as error:
        return exchange.text(error.status, str(error))


def _write_failure(client: WebSocketStream, protocol: ChannelProtocol, why: ApiError) -> None:
    said = json.encode(why.status) if protocol.has_status else why.message.encode()
    message = protocol.encode(channels.ERROR, said)
    client.write_message(message, binary=not protocol.is_base64)


async def _relay(client: WebSocketStream, kubelet: ClientWebSocket, clock: Clock) -> str:
    """Until one of them closes. Returns why, if the kubelet vanished; else ""."""

    async def to_kubelet() -> str:
        try:
            while (message := await client.receive()) is not None:
                await kubelet.send(message)
        except TransportError as error:
            return error.why
        return ""

    async def to_client() -> str:
        try:
            while (message := await kubelet.receive()) is not None:
                await client.send(message)
        except TransportError as error:
            return error.why
        except ConnectionError:
            pass  # the client left
        return ""

    async def watch_over_kubelet() -> str:
        try:
            await wait_silent(kubelet, clock)
        except TransportError as error:
            return error.why
        return "the node's kubelet is silent"

    async with asyncio.TaskGroup() as all_ways:
        ways = [
            all_ways.create_task(to_kubelet()),
            all_ways.create_task(to_client()),
            all_ways.create_task(watch_over_kubelet()),
        ]
        done, _ = await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        for way in ways:
            way.cancel()
    return next((why for way in done if (why := way.result())), "")


def _command_query(options: ConnectOptions) -> str:
    """Our options as the kubelet spells them."""
    pairs = [(theirs, "1") for ours, theirs in _STREAMS if getattr(options, ours)]
    pairs += [("command", word) for word in options.command]
    return urlencode(pairs)


def _wanted_ports(options: ConnectOptions) -> tuple[int, ...]:
    """Raises BadRequest."""
    if len(options.ports) > _PORTS_MAX:
        raise BadRequest(f"at most {_PORTS_MAX} ports can be forwarded at once")
    return options.ports
