"""The way to the kubelets: where a node's is, and connections to it that say who we are.

A node's own object says its address and port, so a kubelet is asked only on behalf of requests that
were let in. Its certificate is not checked: nobody signs it, as with Kubernetes' own defaults.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import (
    AbstractAsyncContextManager,
    AsyncExitStack,
    asynccontextmanager,
    contextmanager,
)
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import quote

from proreus.aio.clock import Clock, deadline
from proreus.api.group_version import GroupResource
from proreus.api.status import (
    ApiError,
    BadRequest,
    InternalError,
    NotFound,
    PlainError,
)
from proreus.api.wire import json
from proreus.net.tls import PairFiles, trusting_context
from proreus.net.transport_error import (
    ConnectFailed,
    ConnectionRefused,
    TlsFailed,
    TransportError,
    TransportTimeout,
)
from proreus.server.registry.collection import Collection

if TYPE_CHECKING:
    from proreus.net.http_client import ByteStream, HttpClient
    from proreus.net.websocket_client import ClientWebSocket

_Answer = TypeVar("_Answer")

_NODES = GroupResource("", "nodes")
_DEFAULT_PORT = 10250
_ADDRESSES = ("InternalIP", "ExternalIP", "InternalDNS", "ExternalDNS", "Hostname")
_CONNECT_TIMEOUT_S = 10.0
ANSWER_S = 30.0
_NO_ANSWER = "net/http: timeout awaiting response headers"  # Go's words
_ERROR_BYTES_MAX = 50 * 1024
_MESSAGE_BYTES_MAX = 32 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Kubelet:
    """One node's. ``address`` is host and port as a URL has them."""

    node: str
    address: str

    def url(self, *parts: str, query: str = "") -> str:
        path = "/".join(quote(part, safe="") for part in parts)
        return f"https://{self.address}/{path}{'?' if query else ''}{query}"

    def failure(self, error: TransportError, method: str = "Get") -> str:
        """What went wrong, as Go's client says it."""
        return f'{method} "{error.url}": {self.dial_failure(error)}'

    def dial_failure(self, error: TransportError) -> str:
        match error:
            case ConnectionRefused():
                return f"dial tcp {self.address}: connect: connection refused"
            case TlsFailed():
                return f"remote error: {error.why}"
            case ConnectFailed():
                return f"dial tcp {self.address}: connect: {error.why.lower()}"
            case TransportTimeout() if error.why == _NO_ANSWER:
                return _NO_ANSWER
            case TransportTimeout():
                return f"dial tcp {self.address}: i/o timeout"
            case _:
                return error.why


class Kubelets:
    """``identity`` is what we show them; without one they will not let us in."""

    def __init__(self, nodes: Collection, identity: PairFiles | None, clock: Clock) -> None:
        self._nodes = nodes
        self._clock = clock
        self._identity = identity
        self._http: HttpClient | None = None
        self._streaming: set[asyncio.Task[Any]] = set()

    def end_streams(self) -> None:
        """Cancel whoever streams: a log that is followed would outlast any patience."""
        for task in self._streaming:
            task.cancel()

    async def of_node(self, name: str) -> Kubelet:
        """Raises NotFound, or PlainError if the node has no address."""
        stored = await self._nodes.store.get(self._nodes.key("", name))
        if stored is None:
            raise NotFound.of(_NODES, name)
        return locate(name, json.decode(stored.value).get("status") or {})

    @asynccontextmanager
    async def stream(
        self,
        method: str,
        url: str,
        headers: Mapping[str, str | list[str]],
        body: bytes | None,
        *,
        patience_s: float | None = ANSWER_S,
    ) -> AsyncIterator[ByteStream]:
        """Raises TransportError, also if the answer does not begin in time."""
        with self._counted():
            asked = self._client().stream(method, url, headers, body)
            async with self._in_time(asked, url, patience_s) as answer:
                yield answer

    @asynccontextmanager
    async def websocket(self, url: str, protocols: Sequence[str]) -> AsyncIterator[ClientWebSocket]:
        """Raises TransportError, UpgradeRefused."""
        with self._counted():
            asked = self._client().websocket(
                url, {}, protocols, message_bytes_max=_MESSAGE_BYTES_MAX
            )
            async with self._in_time(asked, url, ANSWER_S) as socket:
                yield socket

    async def close(self) -> None:
        if self._http is not None:
            await self._http.close()

    @asynccontextmanager
    async def _in_time(
        self, asked: AbstractAsyncContextManager[_Answer], url: str, patience_s: float | None
    ) -> AsyncIterator[_Answer]:
        """Who listens and says nothing is no better than who does not listen."""
        async with AsyncExitStack() as opened:
            try:
                async with deadline(self._clock, patience_s):
                    answer = await opened.enter_async_context(asked)
            except TimeoutError as late:
                raise TransportTimeout(url, _NO_ANSWER) from late
            yield answer

    @contextmanager
    def _counted(self) -> Iterator[None]:
        task = asyncio.current_task()
        assert task is not None, "a request is served by a task"
        self._streaming.add(task)
        try:
            yield
        finally:
            self._streaming.discard(task)

    def _client(self) -> HttpClient:
        if self._http is None:
            # Loaded when first needed: most servers never speak to a kubelet.
            from proreus.net.http_client import HttpClient, Route

            self._http = HttpClient(
                Route(
                    ssl=trusting_context(self._identity),
                    compressed=False,
                    connect_timeout_s=_CONNECT_TIMEOUT_S,
                )
            )
        return self._http


def locate(name: str, status: Mapping[str, Any]) -> Kubelet:
    """Where the kubelet of a node listens, by the node's status. Raises PlainError."""
    known = {one.get("type"): one.get("address") for one in status.get("addresses") or ()}
    host = next((known[kind] for kind in _ADDRESSES if known.get(kind)), None)
    if not host:
        raise PlainError(f"no preferred addresses found; known addresses: {list(known.values())}")
    endpoint = (status.get("daemonEndpoints") or {}).get("kubeletEndpoint") or {}
    port = endpoint.get("Port") or _DEFAULT_PORT
    return Kubelet(name, f"[{host}]:{port}" if ":" in host else f"{host}:{port}")


async def refusal(answer: ByteStream, resource: GroupResource, name: str) -> ApiError:
    """What an answer that is no success means to the user (GenericHttpResponseChecker)."""
    body = (await answer.read())[:_ERROR_BYTES_MAX].decode("utf-8", "replace")
    return told(answer.status, body, resource, name)


def told(code: int, text: str, resource: GroupResource, name: str) -> ApiError:
    match code:
        case 400:
            return BadRequest(text)
        case 500:
            return InternalError.of(text)
        case 404:
            where = f"( {resource} {name})"
            message = f"the server could not find the requested resource {where}"
            return NotFound(message, details={"name": name, "kind": str(resource)})
        case _:
            return PlainError(f"the node's kubelet answered {code}: {text.strip()}")
