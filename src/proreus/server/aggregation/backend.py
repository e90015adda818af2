"""Connections to the server behind one service, with our front-proxy certificate.

    addresses of the service → one that can be reached → request → answer, as it comes

Nothing is repeated that the server may have done; a request that no address took was not sent. An
answer is read as fast as its reader takes it. Redirects are not followed, and this server itself is
never called: a service that points back here would go round for ever.
"""

from __future__ import annotations

import base64
import binascii
import random
import ssl
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import (
    AbstractAsyncContextManager,
    AbstractContextManager,
    AsyncExitStack,
    asynccontextmanager,
)
from typing import TYPE_CHECKING, TypeVar

from proreus.aio.clock import Clock, deadline
from proreus.aio.current_tasks import CurrentTasks
from proreus.lazy_dataclass import dataclass
from proreus.net.client.transport_error import (
    ConnectFailed,
    ConnectionLost,
    TransportError,
)
from proreus.net.tls.contexts import trusting_context
from proreus.net.tls.key_pairs import PairFiles
from proreus.server.aggregation.api_service import BackendConfig
from proreus.server.webhooks.client import failure_text
from proreus.server.webhooks.client_config import ServiceReference
from proreus.server.webhooks.service_resolver import UnresolvedService

if TYPE_CHECKING:
    from proreus.net.client.http_client import ByteStream, HttpClient, HttpResponse
    from proreus.net.client.upgrade import UpgradeAnswer

Address = tuple[str, int]
Headers = Mapping[str, list[str]]
# Hosts and ports at which a service answers. Raises UnresolvedService.
ResolveAll = Callable[[ServiceReference], Sequence[Address]]

T = TypeVar("T")

_CONNECT_S = 10.0
_ADDRESSES_TRIED = 5
EXCHANGES_MAX = 1_000  # at once, watches and streams included
_SAFE = frozenset({"GET", "HEAD"})


class BackendError(Exception):
    """A request that was not answered; the text is its cause, in Go's words."""


class BackendBusy(BackendError):
    """Too many requests are under way."""


class BackendMisconfigured(BackendError):
    """The API service's own fields do not make a connection."""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What all backends of a server have in common. ``forbid`` (IP address, port): whether nothing
    may be sent there."""

    resolve: ResolveAll
    identity: PairFiles | None
    forbid: Callable[[str, int], bool]
    clock: Clock


class Backend:
    """``close`` ends what is under way."""

    def __init__(self, config: BackendConfig, around: Surroundings) -> None:
        self._config = config
        self._around = around
        self._trusted: HttpClient | None = None
        self._unchecked: HttpClient | None = None
        self._under_way = CurrentTasks()  # requests that are handed through

    @property
    def host(self) -> str:
        """As the certificate names it."""
        return self._config.service.host

    def addresses(self) -> list[Address]:
        """In random order. Raises UnresolvedService."""
        found = list(dict.fromkeys(self._around.resolve(self._config.service)))
        random.shuffle(found)
        return found[:_ADDRESSES_TRIED]

    async def get(
        self, path: str, headers: Headers, *, timeout_s: float, bytes_max: int
    ) -> HttpResponse:
        """A whole answer. Raises BackendError."""
        from proreus.net.client.http_client import HttpResponse

        try:
            async with (
                deadline(self._around.clock, timeout_s),
                self._asked("GET", path, headers, None, timeout_s) as answer,
            ):
                body = await answer.read(bytes_max + 1)
        except (TransportError, TimeoutError) as error:
            raise BackendError(failure_text(error, self._named_place)) from error
        if len(body) > bytes_max:
            raise BackendError(f"the answer has more than {bytes_max} bytes")
        return HttpResponse(answer.status, answer.headers, body)

    async def probe(self, address: Address, path: str, headers: Headers, timeout_s: float) -> int:
        """The status of an answer, whoever gives it: the certificate is not checked. Raises
        BackendError."""
        try:
            client = self._unchecked_client()
            async with deadline(self._around.clock, timeout_s):
                asked = client.stream("GET", _url(address, path), self._with_host(headers), None)
                async with asked as answer:
                    return answer.status
        except (TransportError, TimeoutError) as error:
            raise BackendError(failure_text(error, place(address))) from error

    @asynccontextmanager
    async def stream(
        self, method: str, target: str, headers: Headers, body: bytes | None, patience_s: float
    ) -> AsyncIterator[ByteStream]:
        """An answer that has begun within ``patience_s``. Raises BackendError, and TransportError
        while it is read."""
        with self._counted():
            async with self._asked(method, target, headers, body, patience_s) as answer:
                yield answer

    @asynccontextmanager
    async def _asked(
        self, method: str, target: str, headers: Headers, body: bytes | None, patience_s: float
    ) -> AsyncIterator[ByteStream]:
        client, sent = self._client(), self._with_host(headers)

        def ask(address: Address) -> AbstractAsyncContextManager[ByteStream]:
            return client.stream(method, _url(address, target), sent, body)

        async with AsyncExitStack() as opened:
            yield await self._first(opened, ask, patience_s, again=method in _SAFE)

    @asynccontextmanager
    async def upgrade(
        self, method: str, target: str, headers: Headers, patience_s: float
    ) -> AsyncIterator[UpgradeAnswer]:
        """The answer to a request for another protocol, and the connection. Raises BackendError."""
        from proreus.net.client.upgrade import UpgradeRequest, ask_upgrade

        context = self._context()
        asked = UpgradeRequest(method, target, self._with_host(headers))

        def ask(address: Address) -> AbstractAsyncContextManager[UpgradeAnswer]:
            return ask_upgrade(address, asked, context, self.host, self._around.forbid)

        with self._counted():
            async with AsyncExitStack() as opened:
                yield await self._first(opened, ask, patience_s, again=False)

    async def _first(
        self,
        opened: AsyncExitStack,
        ask: Callable[[Address], AbstractAsyncContextManager[T]],
        patience_s: float,
        *,
        again: bool,
    ) -> T:
        """What the first address answers that takes the request. ``again``: whether it may be sent
        once more if the connection is lost: one that was kept may have been closed there
        meanwhile. Raises BackendError."""
        found = self._found()
        failure: Exception | None = None
        for address in [*found, *found[:1]] if again else found:
            try:
                async with deadline(self._around.clock, patience_s):
                    return await opened.enter_async_context(ask(address))
            except ConnectFailed as error:
                failure = error
            except (TransportError, TimeoutError) as error:
                if not again or not isinstance(error, ConnectionLost):
                    raise BackendError(failure_text(error, place(address))) from error
                failure, again = error, False
        if failure is None:
            service = self._config.service.name
            raise BackendError(f'no endpoints available for service "{service}"')
        raise BackendError(failure_text(failure, self._named_place)) from failure

    def end_streams(self) -> None:
        """Cancel all requests that are handed through: a watch would not end by itself."""
        self._under_way.cancel_all()

    async def close(self) -> None:
        self.end_streams()
        for client in (self._trusted, self._unchecked):
            if client is not None:
                await client.close()
        self._trusted = self._unchecked = None

    def _counted(self) -> AbstractContextManager[None]:
        if len(self._under_way) >= EXCHANGES_MAX:
            raise BackendBusy("too many requests to this server are under way")
        return self._under_way.counted()

    def _found(self) -> list[Address]:
        try:
            return self.addresses()
        except UnresolvedService as error:
            raise BackendError(str(error)) from error

    @property
    def _named_place(self) -> str:
        return f"{self.host}:{self._config.service.port}"

    def _with_host(self, headers: Headers) -> dict[str, str | list[str]]:
        return {**headers, "Host": self._named_place}

    def _client(self) -> HttpClient:
        if self._config.is_insecure:
            return self._unchecked_client()
        if self._trusted is None:
            self._trusted = self._new_client(self._context())
        return self._trusted

    def _unchecked_client(self) -> HttpClient:
        if self._unchecked is None:
            self._unchecked = self._new_client(trusting_context(self._around.identity))
        return self._unchecked

    def _new_client(self, context: ssl.SSLContext) -> HttpClient:
        from proreus.net.client.connectors import Route
        from proreus.net.client.http_client import HttpClient

        return HttpClient(
            Route(
                ssl=context,
                server_hostname=self.host,
                compressed=False,
                decompress=False,
                connect_timeout_s=_CONNECT_S,
                forbid=self._around.forbid,
                follow_redirects=False,
            )
        )

    def _context(self) -> ssl.SSLContext:
        """Raises BackendMisconfigured."""
        config, identity = self._config, self._around.identity
        if config.is_insecure:
            return trusting_context(identity)
        try:
            authorities = base64.b64decode(config.ca_bundle).decode("ascii") or None
            context = ssl.create_default_context(cadata=authorities)
        except (binascii.Error, UnicodeDecodeError, ssl.SSLError) as error:
            why = "unable to load root certificates: unable to parse bytes as PEM block"
            raise BackendMisconfigured(why) from error
        if identity is not None:
            context.load_cert_chain(identity.certificate, identity.key)
        return context

    def __repr__(self) -> str:
        return f"<Backend {self._config.service.host}, {len(self._under_way)} under way>"


def place(address: Address) -> str:
    host, port = address
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _url(address: Address, target: str) -> str:
    return f"https://{place(address)}{target}"
