"""Handlers of probes and lifecycle hooks: exec, httpGet, tcpSocket, grpc, sleep.

Each call is bounded by its timeout; failures have a text for the user.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from urllib.parse import urlsplit

from proreus.aio.clock import Clock, deadline
from proreus.api.json_types import Json
from proreus.cluster.kubelet.runtimes.pod_spec.pod_spec import ContainerSpec
from proreus.cluster.kubelet.runtimes.process.descriptors import DescriptorReader
from proreus.cluster.kubelet.runtimes.process.processes import CannotExecute, Command, spawn
from proreus.net.client.connectors import Route
from proreus.net.client.http_client import HttpClient
from proreus.net.client.redirects import Redirects
from proreus.net.client.transport_error import ConnectionRefused, TransportError

_OUTPUT_BYTES = 10 * 1024
_STATUS_OK = range(200, 400)


@dataclass(frozen=True, slots=True)
class Answer:
    is_success: bool
    text: str = ""


@dataclass(frozen=True, slots=True)
class HandlerTarget:
    """``command`` builds a command with the container's environment."""

    container: ContainerSpec
    pod_ip: str
    command: Callable[[Sequence[str]], Command]
    clock: Clock


async def call_handler(handler: Json, target: HandlerTarget, timeout_s: float) -> Answer:
    """Of a probe or of a hook."""
    try:
        return await _call(handler, target, timeout_s)
    except (ValueError, OverflowError) as problem:  # a port or a header that cannot be used
        return Answer(False, str(problem))


async def _call(handler: Json, target: HandlerTarget, timeout_s: float) -> Answer:
    if said := handler.get("exec"):
        return await _execute(list(said.get("command") or ()), target, timeout_s)
    if said := handler.get("httpGet"):
        return await _get(said, target, timeout_s)
    if said := handler.get("tcpSocket"):
        return await _connect(said, target, timeout_s)
    if said := handler.get("grpc"):
        return await _ask_health(said, target, timeout_s)
    if said := handler.get("sleep"):
        await target.clock.sleep(min(float(said.get("seconds") or 0), timeout_s))
        return Answer(True)
    return Answer(False, f"unsupported: {', '.join(sorted(handler))}")


async def _execute(arguments: list[str], target: HandlerTarget, timeout_s: float) -> Answer:
    output = bytearray()

    async def collect(reader: DescriptorReader) -> None:
        async for piece in reader:
            output.extend(piece[: _OUTPUT_BYTES - len(output)])

    if not arguments:
        return Answer(False, "no command")
    try:
        process = spawn(target.command(arguments))
    except CannotExecute as failure:
        return Answer(False, str(failure))
    assert process.ends.stderr is not None
    try:
        async with deadline(target.clock, timeout_s), asyncio.TaskGroup() as group:
            group.create_task(collect(process.ends.stdout))
            group.create_task(collect(process.ends.stderr))
            await process.wait()
    except TimeoutError:
        if process.exit_code is None:
            return Answer(False, f"command timed out: {arguments} timed out after {timeout_s:g}s")
    finally:
        process.kill()
        process.ends.close()
        await process.wait()
    return Answer(process.exit_code == 0, output.decode("utf-8", "replace"))


async def _get(said: Json, target: HandlerTarget, timeout_s: float) -> Answer:
    port = target.container.port(said.get("port") or 0)
    if not port:
        return Answer(False, f"couldn't find port: {said.get('port')}")
    scheme = str(said.get("scheme") or "HTTP").lower()
    path = "/" + str(said.get("path") or "/").lstrip("/")
    url = f"{scheme}://{said.get('host') or target.pod_ip}:{port}{path}"
    headers = {"User-Agent": "kube-probe", "Accept": "*/*"}
    headers |= {h["name"]: str(h.get("value") or "") for h in said.get("httpHeaders") or ()}
    route = Route(ssl=_without_trust(), compressed=False, follow_redirects=False)
    try:
        async with deadline(target.clock, timeout_s):
            status = await _status(route, url, headers)
    except TimeoutError:
        return Answer(False, f'Get "{url}": context deadline exceeded')
    except TransportError as failure:
        return Answer(False, f'Get "{url}": {_reason(failure, port, target)}')
    if status in _STATUS_OK:
        return Answer(True)
    return Answer(False, f"HTTP probe failed with statuscode: {status}")


async def _status(route: Route, url: str, headers: dict[str, str]) -> int:
    """Of the answer that a redirect leads to, as long as it does not lead to another host: how that
    one is says nothing about the container."""
    redirects, host = Redirects(url, headers), urlsplit(url).hostname
    while True:
        async with (
            # A connection for each: few servers say that they close it.
            HttpClient(route) as client,
            # Only how it begins: a probe does not wait for what may never end.
            client.stream("GET", redirects.url, redirects.headers, None) as answer,
        ):
            status, location = answer.status, answer.headers.get("Location") or ""
        if not redirects.follow(status, location) or urlsplit(redirects.url).hostname != host:
            return status


def _reason(failure: TransportError, port: int, target: HandlerTarget) -> str:
    if isinstance(failure, ConnectionRefused):
        return f"dial tcp {target.pod_ip}:{port}: connect: connection refused"
    return str(failure)


async def _connect(said: Json, target: HandlerTarget, timeout_s: float) -> Answer:
    port, host = target.container.port(said.get("port") or 0), said.get("host") or target.pod_ip
    if not port:
        return Answer(False, f"couldn't find port: {said.get('port')}")
    try:
        async with deadline(target.clock, timeout_s):
            _, writer = await asyncio.open_connection(host, port)
            writer.close()
    except TimeoutError:
        return Answer(False, f"dial tcp {host}:{port}: i/o timeout")
    except OSError as failure:
        why = (failure.strerror or str(failure)).lower()
        if isinstance(failure, ConnectionRefusedError):
            why = "connection refused"
        return Answer(False, f"dial tcp {host}:{port}: connect: {why}")
    return Answer(True)


async def _ask_health(said: Json, target: HandlerTarget, timeout_s: float) -> Answer:
    # Loaded when asked for: few programs speak it.
    from proreus.cluster.kubelet.runtimes.process.grpc_health import health_problem
    from proreus.net.grpc.channel import GrpcTarget

    at = GrpcTarget(target.pod_ip, int(said.get("port") or 0))
    why = await health_problem(at, str(said.get("service") or ""), target.clock, timeout_s)
    return Answer(not why, why)


@lru_cache(maxsize=1)
def _without_trust() -> ssl.SSLContext:
    """Probes do not verify certificates."""
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context
