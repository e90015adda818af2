"""Connections to kubelets: the address of a node's kubelet, and our client certificate.

Connections to this server itself are refused, and redirects are not followed: both would let the
author of a Node send requests on the server's behalf to where no kubelet is.
The address and port are those in the Node. A kubelet is called only for requests that were
authorized. Its certificate is not verified: it is self-signed, as by Kubernetes' own defaults.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import (
    AbstractAsyncContextManager,
    AsyncExitStack,
    asynccontextmanager,
)
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import quote

from proreus.aio.clock import Clock, deadline
from proreus.aio.current_tasks import CurrentTasks
from proreus.api.group_version import GroupResource
from proreus.api.status import ApiError, BadRequest, InternalError, NotFound, PlainError
from proreus.api.wire import json
from proreus.lazy_dataclass import dataclass
from proreus.net.client.transport_error import (
    AddressNotAllowed,
    ConnectFailed,
    ConnectionRefused,
    TlsFailed,
    TransportError,
    TransportTimeout,
)
from proreus.net.tls.contexts import trusting_context
from proreus.net.tls.key_pairs import PairFiles
from proreus.net.websocket.handshake import STREAM_PIECE_BYTES_MAX
from proreus.server.registry.collection import Collection

if TYPE_CHECKING:
    from proreus.net.client.http_client import ByteStream, HttpClient
    from proreus.net.client.websocket import ClientWebSocket

_Answer = TypeVar("_Answer")

_DEFAULT_PORT = 10250
_ADDRESSES = ("InternalIP", "ExternalIP", "InternalDNS", "ExternalDNS", "Hostname")
_HOST_NAME = re.compile(r"[A-Za-z0-9._-]{1,255}")
_CONNECT_TIMEOUT_S = 10.0
ANSWER_S = 30.0
_NO_ANSWER = "net/http: timeout awaiting response headers"  # Go's message
_ERROR_BYTES_MAX = 50 * 1024


@dataclass(frozen=True, slots=True)
class KubeletAddress:
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
            case AddressNotAllowed():
                return error.why
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
    """``identity`` is our client certificate; without one they refuse us.

    ``is_own_address`` (IP address, port): whether this API server itself listens there.
    """

    def __init__(
        self,
        nodes: Collection,
        identity: PairFiles | None,
        clock: Clock,
        is_own_address: Callable[[str, int], bool],
    ) -> None:
        self._nodes = nodes
        self._clock = clock
        self._identity = identity
        self._is_own_address = is_own_address
        self._http: HttpClient | None = None
        self._streaming = CurrentTasks()

    def end_streams(self) -> None:
        """Cancel all streams: a log that is followed would not end by itself."""
        self._streaming.cancel_all()

    async def of_node(self, name: str, asked: GroupResource) -> KubeletAddress:
        """Raises NotFound, PlainError if the node has no address, BadRequest if that is none.

        A node that is missing is called what was ``asked`` for, as Kubernetes does: ``pods "n"``.
        """
        stored = await self._nodes.store.get(self._nodes.key("", name))
        if stored is None:
            raise NotFound.of(asked, name)
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
        """Raises TransportError, also if the answer does not begin in time; BadRequest."""
        with self._streaming.counted():
            asked = self._client().stream(method, url, headers, body)
            try:
                async with self._in_time(asked, url, patience_s) as answer:
                    yield answer
            except AddressNotAllowed as error:
                raise BadRequest(error.why) from error

    @asynccontextmanager
    async def websocket(self, url: str, protocols: Sequence[str]) -> AsyncIterator[ClientWebSocket]:
        """Raises TransportError, UpgradeRefused."""
        with self._streaming.counted():
            asked = self._client().websocket(
                url, {}, protocols, message_bytes_max=STREAM_PIECE_BYTES_MAX
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
        """A kubelet that accepts and does not answer counts as one that is not there."""
        async with AsyncExitStack() as opened:
            try:
                async with deadline(self._clock, patience_s):
                    answer = await opened.enter_async_context(asked)
            except TimeoutError as late:
                raise TransportTimeout(url, _NO_ANSWER) from late
            yield answer

    def _client(self) -> HttpClient:
        if self._http is None:
            # Loaded when first needed: most servers never call a kubelet.
            from proreus.net.client.connectors import Route
            from proreus.net.client.http_client import HttpClient

            self._http = HttpClient(
                Route(
                    ssl=trusting_context(self._identity),
                    compressed=False,
                    connect_timeout_s=_CONNECT_TIMEOUT_S,
                    forbid=self._is_own_address,
                    follow_redirects=False,
                )
            )
        return self._http


def locate(name: str, status: Mapping[str, Any]) -> KubeletAddress:
    """Where the kubelet of a node listens, by the node's status. Raises PlainError, BadRequest."""
    known = {one.get("type"): one.get("address") for one in status.get("addresses") or ()}
    host = next((known[kind] for kind in _ADDRESSES if known.get(kind)), None)
    if not host:
        raise PlainError(f"no preferred addresses found; known addresses: {list(known.values())}")
    endpoint = (status.get("daemonEndpoints") or {}).get("kubeletEndpoint") or {}
    port = endpoint.get("Port") or _DEFAULT_PORT
    if not _is_host(host):
        raise BadRequest(f'node {name} has an invalid address "{host}"')
    if not 0 < port < 65536:
        raise BadRequest(f"node {name} has an invalid port {port}")
    return KubeletAddress(name, f"[{host}]:{port}" if ":" in host else f"{host}:{port}")


def _is_host(text: str) -> bool:
    """A name or an IP address, and nothing that a URL would read as more than its host."""
    is_name = _HOST_NAME.fullmatch(text) is not None
    if is_name and not text.rpartition(".")[2].isdecimal():
        return True
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return "%" not in text


async def refusal(answer: ByteStream, resource: GroupResource, name: str) -> ApiError:
    """What an answer that is no success means to the user (GenericHttpResponseChecker)."""
    body = (await answer.read(_ERROR_BYTES_MAX)).decode("utf-8", "replace")
    return error_of(answer.status, body, resource, name)


def error_of(code: int, text: str, resource: GroupResource, name: str) -> ApiError:
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
