"""A server asked without a network: requests go straight into its pipeline."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, cast

from multidict import CIMultiDict

from proreus.aio.clock import Clock
from proreus.api.wire import json
from proreus.net.http1.messages import Chunks, Pieces, Request, Response
from proreus.server.app import ApiServer

MERGE = "application/merge-patch+json"


class Asked:
    """What the pipeline looks at of a request."""

    def __init__(self, method: str, target: str, headers: dict[str, str], body: bytes) -> None:
        self.method = method
        self.raw_path_only, _, self.raw_query = target.partition("?")
        self.headers = CIMultiDict(headers)
        self.peer_certificate = None
        self._body = body

    has_arrived = True

    async def read_body(self, limit: int) -> bytes:
        return self._body


@dataclass(frozen=True, slots=True)
class Answered:
    status: int
    body: Any
    headers: dict[str, str]


@dataclass(slots=True)
class Asking:
    server: ApiServer

    async def __call__(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        kind: str = "application/json",
        accept: str = "*/*",
        token: str = "",
        impersonated: str = "",
        agent: str = "test/1",
    ) -> Answered:
        """``path`` without ``/api/v1/namespaces/default`` unless it begins with a slash."""
        target = path if path.startswith("/") else f"/api/v1/namespaces/default/{path}"
        headers = {"Authorization": f"Bearer {token or self.server.token}", "User-Agent": agent}
        headers["Accept"] = accept
        if impersonated:
            headers["Impersonate-User"] = impersonated
        data = b""
        if body is not None:
            headers["Content-Type"] = kind
            data = body if isinstance(body, bytes) else json.encode(body)
        asked = cast(Request, Asked(method, target, headers, data))
        answer = await self.server.parts.pipeline.handle(asked)
        assert isinstance(answer, Response), "streams need a real connection"
        match answer.body:
            case bytes() as sent:
                pass
            case Pieces(pieces=pieces):
                sent = b"".join(pieces)
            case Chunks(pieces=chunks):
                sent = b"".join([piece async for piece in chunks])
        found = json.decode(sent) if sent[:1] in (b"{", b"[") else sent
        return Answered(answer.status, found, dict(answer.headers))


@asynccontextmanager
async def asking(clock: Clock | None = None) -> AsyncIterator[Asking]:
    async with ApiServer(clock=clock) as server:
        yield Asking(server)
