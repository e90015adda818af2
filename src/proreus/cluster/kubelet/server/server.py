"""The kubelet's HTTPS endpoint: one for all nodes of a process, under the kubelet's own paths.

Receives: requests of the API server.  Hands on: to the runtime of the node a pod is on.
Everything but ``/healthz`` needs a certificate of the cluster's authority whose owner may reach
nodes: the API server's, or an administrator's. What a user may do is decided before, there.
"""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace

import structlog

from proreus.aio.clock import Clock
from proreus.api.object import KubeObject
from proreus.api.wire import channels, json
from proreus.api.wire.channels import ChannelProtocol
from proreus.api.wire.path import BadPathEscape, unescape
from proreus.api.wire.query import Query, parse_query
from proreus.cluster.kubelet.runtimes.streams import ContainerNotFound, Execution, Streams
from proreus.cluster.kubelet.server import node_pages
from proreus.cluster.kubelet.server.commands import CommandSession, command_of, stream_request
from proreus.cluster.kubelet.server.forward import ChannelForward, PodPorts, wanted_ports
from proreus.cluster.kubelet.server.logs import LogAnswer
from proreus.cluster.kubelet.server.node_pages import NodeFacts
from proreus.cluster.kubelet.server.refusal import RequestRefused, has_container, text_answer
from proreus.cluster.kubelet.server.tunnel import Tunnel
from proreus.net.http1.messages import Answer, Request, Response, Streamed
from proreus.net.http1.server import HttpServer
from proreus.net.tls.certificates import KUBELET_CLIENT, subject_of
from proreus.net.websocket import handshake
from proreus.net.websocket.stream import WebSocketStream

_log = structlog.get_logger(__name__)

_MASTERS = "system:masters"
_HEALTH_CHECKS: tuple[list[str], ...] = ([], ["ping"], ["log"], ["syncloop"])
_PROMETHEUS = ("Content-Type", "text/plain; version=0.0.4; charset=utf-8; escaping=underscores")
_JSON = ("Content-Type", "application/json")


@dataclass(slots=True, kw_only=True)
class KubeletServer:
    """``run`` holds it open; ``port`` is the real one then.

    ``find_pod`` (namespace, name) and ``list_pods`` know the pods of this process's nodes,
    ``streams_of`` the runtime of a node, ``describe`` the node of a name or None; without a name
    any of them. ``tls`` must verify client certificates against the
    cluster's authority, without insisting on one.
    """

    clock: Clock
    find_pod: Callable[[str, str], KubeObject | None]
    list_pods: Callable[[], Iterable[KubeObject]]
    streams_of: Callable[[str], Streams]
    describe: Callable[[str], NodeFacts | None]
    tls: ssl.SSLContext
    host: str = "127.0.0.1"
    port: int = 0
    _http: HttpServer | None = field(default=None, init=False)

    @asynccontextmanager
    async def run(self) -> AsyncIterator[KubeletServer]:
        # A stream would keep the server waiting for as long as it lasts: none gets grace.
        http = self._http = HttpServer(
            self._handle, self.clock, self.host, self.port, self.tls, grace_s=0.0
        )
        async with http.run():
            self.port = http.port
            yield self

    async def _handle(self, request: Request) -> Answer:
        try:
            path, query = unescape(request.raw_path_only), parse_query(request.raw_query)
            parts = path.strip("/").split("/")
            if parts[0] == "healthz" and parts[1:] in _HEALTH_CHECKS:
                return text_answer(200, "ok")
            _check_certificate(request)
            return await self._route(request, parts, query)
        except RequestRefused as refused:
            return refused.answer()
        except BadPathEscape:
            return text_answer(400, "400 Bad Request")

    async def _route(self, request: Request, parts: list[str], query: Query) -> Answer:
        match parts:
            case ["pods"]:
                return self._pods(request)
            case (
                ["configz"]
                | ["runningpods"]
                | ["stats", "summary"]
                | ["metrics"]
                | ["metrics", "resource"]
            ):
                return self._page(request, "/".join(parts))
            case ["logs", *_]:
                # As a kubelet answers whose ``enableSystemLogHandler`` is false: what its machine
                # writes down is not the cluster's.
                raise RequestRefused(405, "logs endpoint is disabled.\n")
            case ["containerLogs", namespace, name, container]:
                pod = self._pod(namespace, name)
                answer = LogAnswer(self._streams(pod), self.clock, pod, container)
                return await answer.serve(request, query)
            case [("exec" | "attach") as verb, namespace, name, container]:
                return await self._command(request, verb, (namespace, name, container), query)
            case ["portForward", namespace, name]:
                return await self._forward(request, self._pod(namespace, name), query)
            case _:
                raise RequestRefused(404, "404 page not found\n")

    def _pods(self, request: Request) -> Answer:
        node = _node_asked(request)
        items = b",".join(
            pod.raw for pod in self.list_pods() if not node or pod.spec.nodeName == node
        )
        body = b'{"kind":"PodList","apiVersion":"v1","metadata":{},"items":[%b]}' % items
        return Response(200, (_JSON,), body)

    def _page(self, request: Request, page: str) -> Answer:
        if request.method not in ("GET", "HEAD"):
            raise RequestRefused(405, "405: Method Not Allowed")
        found = self.describe(_node_asked(request))
        if found is None:
            raise RequestRefused(404, "404 page not found\n")
        match page:
            case "configz":
                made = node_pages.configuration(replace(found, address=self.host, port=self.port))
                return Response(200, (_JSON,), json.encode(made))
            case "runningpods":
                return Response(200, (_JSON,), json.encode(node_pages.running_pods(found)))
            case "stats/summary":
                said = node_pages.summary(found, self.clock.now())
                return Response(200, (_JSON,), json.encode(said))
            case "metrics":
                return Response(200, (_PROMETHEUS,), node_pages.metrics(found).encode())
            case _:
                return Response(200, (_PROMETHEUS,), node_pages.resource_metrics(found).encode())

    async def _command(
        self, request: Request, verb: str, at: tuple[str, str, str], query: Query
    ) -> Answer:
        namespace, name, container = at
        pod = self._pod(namespace, name)
        wanted = stream_request(query)
        command = command_of(wanted) if verb == "exec" else ()
        if not has_container(pod, container):
            raise RequestRefused(404, f'container not found ("{container}")')
        streams = self._streams(pod)

        async def start() -> Execution:
            stdin, tty = wanted.stdin, wanted.tty
            try:
                if verb == "attach":
                    return await streams.attach(pod.uid, container, stdin=stdin, tty=tty)
                return await streams.execute(pod.uid, container, command, stdin=stdin, tty=tty)
            except ContainerNotFound as error:
                raise ContainerNotFound(f'container not found ("{container}")') from error

        protocol = _chosen(request, channels.COMMAND_PROTOCOLS)
        socket = _accepted(request, protocol)
        says_exit = verb == "exec"
        await CommandSession(socket, protocol, wanted, self.clock, says_exit=says_exit).run(start)
        return Streamed(keep_alive=False)

    async def _forward(self, request: Request, pod: KubeObject, query: Query) -> Answer:
        streams = self._streams(pod)
        ports = PodPorts(pod.name, pod.uid, lambda port: streams.connect(pod.uid, port))
        protocol = _chosen(request, channels.FORWARD_PROTOCOLS)
        if protocol is channels.SPDY_TUNNEL:
            await Tunnel(_accepted(request, protocol), ports, self.clock).run()
        else:
            wanted = wanted_ports(query)
            socket = _accepted(request, protocol)
            await ChannelForward(socket, protocol, ports, self.clock).run(wanted)
        return Streamed(keep_alive=False)

    def _pod(self, namespace: str, name: str) -> KubeObject:
        pod = self.find_pod(namespace, name)
        if pod is None:
            raise RequestRefused(404, f'pod "{name}" does not exist\n')
        return pod

    def _streams(self, pod: KubeObject) -> Streams:
        return self.streams_of(pod.spec.nodeName)

    def __repr__(self) -> str:
        return f"<KubeletServer {self.host}:{self.port}>"


def _node_asked(request: Request) -> str:
    return node_pages.node_asked(request.headers.get("X-Forwarded-Uri") or "")


def _check_certificate(request: Request) -> None:
    certificate = request.peer_certificate
    if certificate is None:
        raise RequestRefused(401, "Unauthorized")
    user, groups = subject_of(certificate)
    if user != KUBELET_CLIENT and _MASTERS not in groups:
        _log.warning(
            "request without an accepted certificate", user=user, path=request.raw_path_only
        )
        verb = "get" if request.method == "GET" else "create"
        raise RequestRefused(
            403, f"Forbidden (user={user}, verb={verb}, resource=nodes, subresource=proxy)"
        )


def _chosen(request: Request, served: tuple[ChannelProtocol, ...]) -> ChannelProtocol:
    if not handshake.is_upgrade(request.headers):
        raise RequestRefused(400, "Upgrade request required: this endpoint speaks WebSocket")
    offered = handshake.offered_protocols(request)
    protocol = channels.choose(offered, served)
    if protocol is None:
        names = ", ".join(one.name for one in served if one.name)
        raise RequestRefused(400, f"none of the protocols {offered} is served; these are: {names}")
    return protocol


def _accepted(request: Request, protocol: ChannelProtocol) -> WebSocketStream:
    try:
        return handshake.accept_stream(
            request, protocol=protocol.name, prefix_bytes=protocol.prefix_bytes
        )
    except handshake.BadHandshake as error:
        raise RequestRefused(error.status, str(error)) from error
