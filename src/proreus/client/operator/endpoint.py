"""The HTTP endpoint of an operator: ``/healthz``, ``/readyz`` and ``/metrics``."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest

from proreus.aio.clock import Clock
from proreus.net.http1.messages import Answer, Request, Response
from proreus.net.http1.server import HttpServer

_TEXT = "text/plain; charset=utf-8"


@dataclass(frozen=True, slots=True)
class Probes:
    """``alive`` and ``ready`` answer with what is wrong, empty if nothing is."""

    alive: Callable[[], str]
    ready: Callable[[], str]


def parse_address(text: str) -> tuple[str, int]:
    """``host:port``, ``:port`` for all addresses. Raises ValueError."""
    host, colon, port = text.rpartition(":")
    if not colon or not port.isdecimal() or int(port) > 65535:
        raise ValueError(f"{text!r} is no address: it is not HOST:PORT")
    return host.strip("[]") or "0.0.0.0", int(port)


@asynccontextmanager
async def serve(
    address: str, probes: Probes, registry: CollectorRegistry, clock: Clock
) -> AsyncIterator[str]:
    """Serve while the body runs; gives the URL."""

    async def handle(request: Request) -> Answer:
        return _answer(request, probes, registry)

    host, port = parse_address(address)
    async with HttpServer(handle, clock, host, port).run() as server:
        shown = f"[{host}]" if ":" in host else host
        yield f"http://{shown}:{server.port}"


def _answer(request: Request, probes: Probes, registry: CollectorRegistry) -> Response:
    if request.method not in ("GET", "HEAD"):
        return _text(405, "method not allowed\n")
    match request.raw_path_only:
        case "/healthz" | "/livez":
            return _checked(probes.alive())
        case "/readyz":
            return _checked(probes.ready())
        case "/metrics":
            body = generate_latest(registry)
            return Response(200, (("Content-Type", CONTENT_TYPE_LATEST),), body)
        case _:
            return _text(404, "404 page not found\n")


def _checked(trouble: str) -> Response:
    return _text(503, f"{trouble}\n") if trouble else _text(200, "ok\n")


def _text(status: int, text: str) -> Response:
    return Response(status, (("Content-Type", _TEXT),), text.encode())
