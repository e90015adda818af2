"""A client of one webhook: posts a body, reads the answer.

HTTPS only, checked against the webhook's own authorities. A failure has the message of Go's HTTP
client, which is what users of Kubernetes read in Statuses and logs.
"""

from __future__ import annotations

import base64
import binascii
import socket
import ssl
from collections.abc import Callable
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from proreus.aio.clock import Clock, deadline
from proreus.api import go_text
from proreus.api.wire import json
from proreus.net.client.transport_error import (
    ConnectionLost,
    ConnectionRefused,
    TlsFailed,
    TransportError,
    TransportTimeout,
)
from proreus.server.webhooks.client_config import ServiceReference, WebhookClientConfig
from proreus.server.webhooks.connections import WebhookConnections
from proreus.server.webhooks.service_resolver import UnresolvedService
from proreus.server.webhooks.users import ANONYMOUS_USER, WebhookUser

if TYPE_CHECKING:
    from proreus.net.client.connectors import Route
    from proreus.net.client.http_client import HttpResponse

_ANSWER_BYTES_MAX = 64 * 1024 * 1024  # lists of objects are converted in one call
_HEADERS = {"Content-Type": "application/json", "Accept": "application/json, */*"}
_MESSAGE_BY_CODE = {
    400: "the server rejected our request for an unknown reason",
    401: "the server has asked for the client to provide credentials",
    404: "the server could not find the requested resource",
    405: "the server does not allow this method on the requested resource",
    409: "the server reported a conflict",
    422: "the server rejected our request due to an error in our request",
    429: "the server has received too many requests and has asked us to try again later",
    503: "the server is currently unable to handle the request",
    504: "the server was unable to return a response in the time allotted, but may still be "
    "processing the request",
}
_NOT_ACCEPTABLE = "the server was unable to respond with a content type that the client supports"
_UNKNOWN = "unknown"  # what an answer says that is no text
_TEXT_MAX = 2048  # of an answer that is quoted

# Host and port at which a service answers. Raises UnresolvedService.
Resolve = Callable[[ServiceReference], tuple[str, int]]


_UNLOADED, _PEM = "unable to load root certificates", "-----BEGIN "
_NO_PEM = "unable to parse bytes as PEM block"
_NO_CERTIFICATE = "no valid certificate authority data seen"


class CallError(Exception):
    """A call that brought no usable answer."""


class CallFailed(CallError):
    """No answer came."""


class CallRejected(CallError):
    """An answer came, and its status is an error."""

    def __init__(self, why: str, code: int = 503) -> None:
        super().__init__(why)
        self.code = code


class CallImpossible(CallError):
    """The authorities of the webhook cannot be read: nothing was sent."""


class WebhookClient:
    """Connections are kept between calls; ``close`` ends them."""

    def __init__(
        self,
        config: WebhookClientConfig,
        resolve: Resolve,
        clock: Clock,
        user: WebhookUser = ANONYMOUS_USER,
    ) -> None:
        self._config = config
        self._user = user
        self._resolve = resolve
        self._clock = clock
        self._connections = WebhookConnections(self._route)

    async def post(
        self, body: bytes, timeout_s: float, *, answer_bytes_max: int = _ANSWER_BYTES_MAX
    ) -> bytes:
        """The body of the answer. Raises CallError."""
        url = f"{self._config.url}?timeout={timeout_s:.0f}s"
        try:
            async with deadline(self._clock, timeout_s):
                answer = await self._post(url, body, answer_bytes_max)
        except (TransportError, TimeoutError, UnresolvedService, ssl.SSLError) as error:
            raise CallFailed(
                f'Post "{url}": {failure_text(error, self._config.address)}'
            ) from error
        finally:
            await self._connections.after_call()
        if not 200 <= answer.status <= 206:
            raise CallRejected(rejection(answer), answer.status)
        if not answer.body:
            content = answer.headers.get("Content-Type") or ""
            raise CallFailed(
                f"0-length response with status code: {answer.status} and content type: {content}"
            )
        return answer.body

    async def close(self) -> None:
        await self._connections.close()

    async def retire(self) -> None:
        """Close once the calls under way are answered."""
        await self._connections.retire()

    async def _post(self, url: str, body: bytes, answer_bytes_max: int) -> HttpResponse:
        service, headers = self._config.service, {**_HEADERS, **self._user.headers}
        if service is not None:
            # The certificate names the service; the connection goes to one of its addresses.
            host, port = self._resolve(service)
            parts = urlsplit(url)
            headers["Host"] = parts.netloc
            place = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
            url = parts._replace(netloc=place).geturl()
        return await self._connections.post(url, headers, body, answer_bytes_max=answer_bytes_max)

    def _route(self) -> Route:
        from proreus.net.client.connectors import Route

        name = None if self._config.service is None else urlsplit(self._config.url).hostname
        return Route(ssl=self._trust(), server_hostname=name)

    def _trust(self) -> ssl.SSLContext:
        authorities = None
        if self._config.ca_bundle:
            try:
                authorities = base64.b64decode(self._config.ca_bundle).decode("ascii")
            except (binascii.Error, UnicodeDecodeError) as error:
                raise CallImpossible(f"{_UNLOADED}: {_NO_PEM}") from error
        try:
            context = ssl.create_default_context(cadata=authorities)
        except ssl.SSLError as error:
            why = _NO_CERTIFICATE if _PEM in (authorities or "") else _NO_PEM
            raise CallImpossible(f"{_UNLOADED}: {why}") from error
        self._user.sign(context)
        return context

    def __repr__(self) -> str:
        return f"<WebhookClient {self._config.url}>"


def failure_text(error: Exception, address: str) -> str:
    """Why there was no answer. ``address``: host and port of the webhook."""
    match error:
        case ConnectionRefused():
            return f"dial tcp {address}: connect: connection refused"
        case TlsFailed() if "local issuer" in error.why or "self-signed" in error.why:
            unknown = "x509: certificate signed by unknown authority"
            return f"tls: failed to verify certificate: {unknown}"
        case TlsFailed():
            return f"tls: failed to verify certificate: {error.why.removeprefix('TLS: ')}"
        case TransportTimeout() | TimeoutError():
            return "context deadline exceeded"
        case ConnectionLost():
            return "EOF"
        case TransportError() if isinstance(error.__cause__, socket.gaierror):
            return f"dial tcp: lookup {address.rpartition(':')[0]}: no such host"
        case TransportError():
            return error.why
        case _:
            return str(error)


def rejection(answer: HttpResponse) -> str:
    """What an answer says whose status is an error."""
    try:
        body = json.decode(answer.body)
    except ValueError:
        body = None
    if isinstance(body, dict) and body.get("kind") == "Status" and body.get("message"):
        return str(body["message"])[:_TEXT_MAX]
    if (message := _MESSAGE_BY_CODE.get(answer.status)) is not None:
        return message
    said = _UNKNOWN
    if (answer.headers.get("Content-Type") or "text/plain").startswith("text/"):
        said = answer.body[:_TEXT_MAX].decode("utf-8", "replace").strip()
    match answer.status:
        case 403 | 415:
            return said or _UNKNOWN
        case 406:
            return _NOT_ACCEPTABLE if said in ("", _UNKNOWN) else said
        case code if code >= 500:
            quoted = go_text.quoted(said)
            return f"an error on the server ({quoted}) has prevented the request from succeeding"
        case code:
            responded = f"the server responded with the status code {code}"
            return f"{responded} but did not return more information"
