"""``…/proxy/…`` of nodes, pods and services: a request handed through to what runs there.

A node's is its kubelet, a pod's a port of it, a service's a port of one of its ready pods. Pods are
reached through their node's kubelet. Plain HTTP: a stream into a pod has its own subresource.
"""

from __future__ import annotations

import random
from contextlib import AsyncExitStack
from urllib.parse import urlencode

from proreus.aio.clock import deadline
from proreus.api.group_version import GroupResource
from proreus.api.selectors import LabelSelector
from proreus.api.status import BadRequest, ServiceUnavailable
from proreus.api.wire import channels, splice
from proreus.net.client.transport_error import TransportError
from proreus.net.http1.messages import Answer, Response, Streamed
from proreus.net.tls.contexts import trusting_context
from proreus.server.http.body import read_body
from proreus.server.http.exchange import Exchange, Header
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

# What belongs to one connection (RFC 9110, 7.6.1), and what was for us alone.
_OURS = frozenset(
    {"connection", "keep-alive", "proxy-authorization", "te", "trailer", "transfer-encoding",
     "upgrade", "host", "content-length", "expect", "authorization", "accept-encoding"}
)  # fmt: skip
_NODES = GroupResource("", "nodes")
# The parts of the path before: "", api, v1, nodes, <name>, proxy; two more in namespaces.
_DEPTH = 6
# How long a body may take to arrive; what is proxied has no deadline of its own.
_BODY_S = 60.0
_WITHOUT_BODY = frozenset({204, 304})


async def proxy(services: Services, exchange: Exchange, route: ResourceRoute) -> Answer:
    if "Upgrade" in exchange.headers:
        raise BadRequest("only plain HTTP is proxied")
    kind = route.resource.plural
    depth = _DEPTH if kind == "nodes" else _DEPTH + 2
    path = f"/{_raw_path(exchange, depth)}"
    options = await admit_connection(services, exchange, route, path=path)
    rest = _rest(exchange, options.path)
    target = parse_target(route.name, kind.removesuffix("s"))
    if kind == "nodes":
        return await _to_node(services, exchange, target, rest)
    if kind == "services":
        chosen = await _pod_behind(services, route, target)
        target = Target(chosen.name, chosen.port, target.scheme)
    return await _to_pod(services, exchange, route, target, rest)


async def _to_node(services: Services, exchange: Exchange, target: Target, rest: str) -> Answer:
    kubelet = await services.kubelets.of_node(target.name, _NODES)
    if target.port not in ("", kubelet.address.rpartition(":")[2]):
        raise BadRequest(f"only the kubelet's own port of node {target.name} is proxied")
    url = f"https://{kubelet.address}{rest}"
    try:
        return await _handed_through(services, exchange, url)
    except TransportError as error:
        raise _unreachable(kubelet.dial_failure(error)) from error


async def _to_pod(
    services: Services, exchange: Exchange, route: ResourceRoute, target: Target, rest: str
) -> Answer:
    from proreus.net.client.http_client import UpgradeRefused

    pods = services.collections.named("", "v1", "pods")
    pod = await read_live(services, route._replace(resource=pods.resource, name=target.name))
    if not (node := pod["spec"].get("nodeName")):
        raise BadRequest("address not allowed")  # it has none before it has a node
    port = pod_port(pod, target.port)
    kubelet = await services.kubelets.of_node(node, route.resource.group_resource)
    asked = urlencode({"port": port})
    forward = kubelet.url("portForward", route.namespace, target.name, query=asked)
    url = f"{target.scheme or 'http'}://{target.name}:{port}{rest}"
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
            return await _handed_through(services, exchange, url, there)
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


def _raw_path(exchange: Exchange, depth: int) -> str:
    """What follows ``/proxy/``, still escaped."""
    parts = exchange.request.raw_path_only.split("/", depth)
    return parts[depth] if len(parts) > depth else ""


def _rest(exchange: Exchange, path: str) -> str:
    """The path as it is asked for there, with the query."""
    query = exchange.request.raw_query
    path = path if path.startswith("/") else f"/{path}"
    return f"{path}?{query}" if query else path


def _unreachable(why: str) -> ServiceUnavailable:
    return ServiceUnavailable(f"error trying to reach service: {why}")


async def _handed_through(
    services: Services, exchange: Exchange, url: str, there: PodSocket | None = None
) -> Answer:
    """Raises TransportError as long as nothing was answered."""
    from proreus.net.client.connectors import Route
    from proreus.net.client.http_client import HttpClient

    request = exchange.request
    async with deadline(services.clock, _BODY_S):
        body = await read_body(exchange)
    headers: dict[str, str | list[str]] = {
        key: request.headers.getall(key)
        for key in set(request.headers)
        if key.lower() not in _OURS and not services.authentication.names_user(key.lower())
    }
    async with AsyncExitStack() as opened:
        if there is None:
            asked = services.kubelets.stream(exchange.method, url, headers, body or None)
        else:
            own = Route(ssl=trusting_context(None), given=there.socket, compressed=False)
            client = await opened.enter_async_context(HttpClient(own))
            asked = client.stream(exchange.method, url, headers, body or None)
        answer = await opened.enter_async_context(asked)
        content: Header = ("Content-Type", answer.headers.get("Content-Type", "text/plain"))
        status = answer.status
        if exchange.method == "HEAD" or status in _WITHOUT_BODY:
            return Response(status, exchange.head(content=content), b"")
        stream = request.open_stream(exchange.head(content=content), status)
        try:
            while piece := await answer.next_chunk():
                stream.write(piece)
                await request.wait_written()
        except TransportError:
            stream.abort()
            return Streamed(keep_alive=False, status=status)
        stream.end()
    return Streamed(status=status)
