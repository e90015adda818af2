"""``…/proxy/…`` of nodes, pods and services: a request handed through to what runs there.

A node's is its kubelet, a pod's a port of it, a service's a port of one of its ready pods. Pods are
reached through their node's kubelet, and may be asked for another protocol, such as WebSockets.
The answer is theirs, with its headers; redirects and links of pages lead back through here.
"""

from __future__ import annotations

import random
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from proreus.aio.clock import deadline
from proreus.api.group_version import GroupResource
from proreus.api.selectors import LabelSelector
from proreus.api.status import BadRequest, ServiceUnavailable
from proreus.api.wire import channels, splice
from proreus.lazy_dataclass import dataclass
from proreus.net.client.proxying import (
    WITHOUT_BODY,
    content_length,
    send_on,
    wants_upgrade,
)
from proreus.net.client.server_address import Origin
from proreus.net.client.transport_error import TransportError
from proreus.net.http1.messages import Answer, Pieces, Response, Streamed
from proreus.net.tls.contexts import trusting_context
from proreus.server.http.body import read_body
from proreus.server.http.exchange import Exchange
from proreus.server.http.forwarded_headers import forwarded_head, forwarded_headers
from proreus.server.http.handlers.connecting import admit_connection
from proreus.server.http.handlers.pod_logs import read_live
from proreus.server.http.pod_ports import PodSocket, as_socket
from proreus.server.http.router import ResourceRoute
from proreus.server.http.services import Services
from proreus.server.registry.subresources.proxy_targets import (
    Target,
    parse_target,
    pod_port,
    service_endpoints,
)
from proreus.server.watch_cache.query import AnyState, ListQuery, Selection

if TYPE_CHECKING:
    from proreus.net.client.connectors import Route
    from proreus.net.client.http_client import ByteStream
    from proreus.server.http.proxied_links import ProxiedLinks

# What holds for this server's whole origin is not theirs to say.
_ORIGIN_WIDE = frozenset(
    {"clear-site-data", "service-worker-allowed", "set-cookie", "strict-transport-security"}
    | {f"access-control-allow-{name}" for name in ("credentials", "headers", "methods", "origin")}
)
_NODES = GroupResource("", "nodes")
# The parts of the path before: "", api, v1, nodes, <name>, proxy; two more in namespaces.
_DEPTH = 6
# How long a body may take to arrive; what is proxied has no deadline of its own.
_BODY_S = 60.0
_HEAD_S = 30.0  # until another protocol is agreed on
_PAGE_BYTES_MAX = 1 << 20  # of one whose links are changed; of longer ones they are not


async def proxy(services: Services, exchange: Exchange, route: ResourceRoute) -> Answer:
    kind = route.resource.plural
    if kind == "nodes" and "Upgrade" in exchange.headers:
        raise BadRequest("only plain HTTP is proxied")
    depth = _DEPTH if kind == "nodes" else _DEPTH + 2
    parts = exchange.request.raw_path_only.split("/", depth)
    path = f"/{parts[depth] if len(parts) > depth else ''}"
    options = await admit_connection(services, exchange, route, path=path)
    proxied = _ProxyPath("/".join(parts[:depth]), options.path, is_bare=len(parts) <= depth)
    target = parse_target(route.name, kind.removesuffix("s"))
    if kind == "nodes":
        return await _to_node(services, exchange, target, proxied)
    if kind == "services":
        chosen = await _pod_behind(services, route, target)
        target = Target(chosen.name, chosen.port, target.scheme)
    return await _to_pod(services, exchange, route, target, proxied)


@dataclass(frozen=True, slots=True)
class _ProxyPath:
    """``prefix``: the path up to ``/proxy``. ``path``: what is asked for there, still escaped.
    ``is_bare``: not even a slash was."""

    prefix: str
    path: str
    is_bare: bool

    def rooted(self) -> str:
        return self.path if self.path.startswith("/") else f"/{self.path}"

    def target(self, exchange: Exchange) -> str:
        query = exchange.request.raw_query
        return f"{self.rooted()}?{query}" if query else self.rooted()

    def uri(self) -> str:
        return self.prefix + self.rooted()


def _redirected(exchange: Exchange, proxied: _ProxyPath) -> Answer | None:
    """A page's relative links are those of a folder, so its address must end as one."""
    is_page = exchange.method in ("GET", "HEAD") and not wants_upgrade(exchange.request)
    if not (proxied.is_bare and is_page):
        return None
    query = exchange.request.raw_query
    location = f"{proxied.prefix}/?{query}" if query else f"{proxied.prefix}/"
    return Response(301, exchange.head(("Location", location)), b"")


async def _to_node(
    services: Services, exchange: Exchange, target: Target, proxied: _ProxyPath
) -> Answer:
    kubelet = await services.kubelets.of_node(target.name, _NODES)
    if target.port not in ("", kubelet.address.rpartition(":")[2]):
        raise BadRequest(f"only the kubelet's own port of node {target.name} is proxied")
    if (redirect := _redirected(exchange, proxied)) is not None:
        return redirect
    try:
        return await _handed_through(services, exchange, f"https://{kubelet.address}", proxied)
    except TransportError as error:
        raise _unreachable(kubelet.dial_failure(error)) from error


async def _to_pod(
    services: Services,
    exchange: Exchange,
    route: ResourceRoute,
    target: Target,
    proxied: _ProxyPath,
) -> Answer:
    from proreus.net.client.http_client import UpgradeRefused

    pods = services.collections.named("", "v1", "pods")
    pod = await read_live(services, route._replace(resource=pods.resource, name=target.name))
    if not (node := pod["spec"].get("nodeName")):
        raise BadRequest("address not allowed")  # it has none before it has a node
    port = pod_port(pod, target.port)
    if (redirect := _redirected(exchange, proxied)) is not None:
        return redirect
    kubelet = await services.kubelets.of_node(node, route.resource.group_resource)
    asked = urlencode({"port": port})
    forward = kubelet.url("portForward", route.namespace, target.name, query=asked)
    server = f"{target.scheme or 'http'}://{target.name}:{port}"
    async with AsyncExitStack() as opened:
        try:
            socket = await opened.enter_async_context(
                services.kubelets.websocket(forward, [channels.V4.name])
            )
        except TransportError as error:
            raise _unreachable(kubelet.dial_failure(error)) from error
        except UpgradeRefused as refused:
            said = refused.response.body.decode("utf-8", "replace").strip()
            raise _unreachable(said) from refused
        there = await opened.enter_async_context(as_socket(socket))
        try:
            if wants_upgrade(exchange.request):
                origin = Origin(target.scheme or "http", target.name, port)
                return await _upgraded(services, exchange, origin, proxied, there)
            return await _handed_through(services, exchange, server, proxied, there)
        except TransportError as error:
            raise _unreachable(there.failure or error.why) from error


async def _pod_behind(services: Services, route: ResourceRoute, target: Target) -> Target:
    service = await read_live(services, route._replace(name=target.name))
    slices = services.collections.named("discovery.k8s.io", "v1", "endpointslices")
    labels = LabelSelector.parse(f"kubernetes.io/service-name={target.name}")
    found = await slices.cache.list(
        ListQuery(Selection(route.namespace, labels=labels), AnyState())
    )
    of_service = [splice.decode_item(one.item) for one in found.objects]
    return random.choice(service_endpoints(service, of_service, target.port))


def _unreachable(why: str) -> ServiceUnavailable:
    return ServiceUnavailable(f"error trying to reach service: {why}")


async def _handed_through(
    services: Services,
    exchange: Exchange,
    server: str,
    proxied: _ProxyPath,
    there: PodSocket | None = None,
) -> Answer:
    """Raises TransportError as long as nothing was answered."""
    from proreus.net.client.http_client import HttpClient
    from proreus.server.http.proxied_links import ProxiedLinks

    async with deadline(services.clock, _BODY_S):
        body = await read_body(exchange)
    headers = {**forwarded_headers(services, exchange), "X-Forwarded-Uri": [proxied.uri()]}
    url = server + proxied.target(exchange)
    async with AsyncExitStack() as opened:
        if there is None:
            asked = services.kubelets.stream(exchange.method, url, headers, body or None)
        else:
            client = await opened.enter_async_context(HttpClient(_route(there)))
            asked = client.stream(exchange.method, url, headers, body or None)
        answer = await opened.enter_async_context(asked)
        host = server.partition("://")[2]
        links = ProxiedLinks(proxied.prefix, host, exchange.headers.get("Host", ""))
        return await _forwarded(exchange, answer, links)


def _route(there: PodSocket) -> Route:
    from proreus.net.client.connectors import Route

    return Route(
        ssl=trusting_context(None), given=there.socket, compressed=False, follow_redirects=False
    )


async def _upgraded(
    services: Services, exchange: Exchange, origin: Origin, proxied: _ProxyPath, there: PodSocket
) -> Answer:
    """Bytes of whatever protocol both agree on. Raises TransportError until they do."""
    from proreus.net.client.upgrade import UpgradeRequest, ask_upgrade_by

    headers = {
        **forwarded_headers(services, exchange),
        "Host": [origin.authority],
        "Connection": ["Upgrade"],
        "Upgrade": [exchange.headers["Upgrade"]],
        "X-Forwarded-Uri": [proxied.uri()],
    }
    asked = UpgradeRequest(exchange.method, proxied.target(exchange), headers)
    async with AsyncExitStack() as opened:
        async with deadline(services.clock, _HEAD_S):
            answer = await opened.enter_async_context(ask_upgrade_by(_route(there), origin, asked))
        if answer.status != 101:
            head = forwarded_head(exchange, answer.headers, _ORIGIN_WIDE)
            return Response(answer.status, head, await answer.read_body())
        exchange.lift_deadline()
        await answer.relay(exchange.request)
    return Streamed(keep_alive=False, status=101)


async def _forwarded(exchange: Exchange, answer: ByteStream, links: ProxiedLinks) -> Answer:
    """The other server's answer, with its links led back through here."""
    encoding = answer.headers.get("Content-Encoding")
    is_plain = encoding in ("", "gzip")  # the client has unpacked it
    dropped = _ORIGIN_WIDE | {"content-encoding"} if is_plain else _ORIGIN_WIDE
    if location := answer.headers.get("Location"):
        dropped |= {"location"}
    head = forwarded_head(exchange, answer.headers, dropped)
    head += tuple(("Set-Cookie", links.cookie(one)) for one in answer.headers.all("Set-Cookie"))
    if location:
        head += (("Location", links.url(location)),)
    if not (said := answer.headers.get("Content-Type")):
        head += (("Content-Type", "text/plain"),)  # a browser need not guess
    if exchange.method == "HEAD" or answer.status in WITHOUT_BODY:
        length = content_length(answer) if encoding == "" else None
        return Response(answer.status, head, Pieces(length or 0, iter(())))
    is_page = said.partition(";")[0].strip() == "text/html"
    if location or not is_page or not is_plain:
        return await send_on(exchange.request, answer, head)
    begun, is_whole = await _read_page(answer)
    if is_whole:
        return Response(answer.status, head, links.page(begun))
    return await send_on(exchange.request, answer, head, begun)


async def _read_page(answer: ByteStream) -> tuple[bytes, bool]:
    """What there is of a page, and whether that is all: a longer one is not gathered."""
    pieces = bytearray()
    while piece := await answer.next_chunk():
        pieces += piece
        if len(pieces) > _PAGE_BYTES_MAX:
            return bytes(pieces), False
    return bytes(pieces), True
