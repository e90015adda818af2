"""A conversion webhook: the call itself (spec.conversion.webhook of a definition).

HTTPS only, checked against the definition's own authorities; 30 s per call. A failure is told as
Kubernetes tells it: what was converted, what was asked, and what went wrong there.
"""

from __future__ import annotations

import base64
import binascii
import ssl
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from proreus.aio.clock import Clock, deadline
from proreus.api.status import PlainError
from proreus.api.wire import json
from proreus.net.transport_error import (
    ConnectionLost,
    ConnectionRefused,
    TlsFailed,
    TransportError,
    TransportTimeout,
)
from proreus.server.custom.conversion_review import KNOWN_VERSIONS, BadReview, Review
from proreus.server.schema.rules import JsonObject

if TYPE_CHECKING:
    from proreus.net.http_client import HttpClient, Response

TIMEOUT_S = 30.0
_HEADERS = {"Content-Type": "application/json", "Accept": "application/json, */*"}
_SAID_BY_CODE = {
    401: "the server has asked for the client to provide credentials",
    404: "the server could not find the requested resource",
    405: "the server does not allow this method on the requested resource",
    503: "the server is currently unable to handle the request",
    504: "the server was unable to return a response in the time allotted, but may still be "
    "processing the request",
}


class ConversionRefused(PlainError):
    """The webhook was reached and did not convert: asking for less at once may succeed."""


class Unreachable(Exception):
    """A service has no address."""


# Where a service of this namespace, name and port answers: host and port. Raises Unreachable.
Resolve = Callable[[str, str, int], tuple[str, int]]


@dataclass(frozen=True, slots=True)
class Target:
    """What a definition says of its webhook. ``service`` None: ``url`` says where it is."""

    url: str  # of the service it is the name inside the cluster
    service: tuple[str, str, int] | None
    ca_bundle: str
    review_versions: tuple[str, ...]

    @classmethod
    def of(cls, webhook: Mapping[str, Any]) -> Target:
        config = webhook.get("clientConfig") or {}
        versions = tuple(webhook.get("conversionReviewVersions") or ())
        bundle = config.get("caBundle") or ""
        given = config.get("service")
        if given is None:
            return cls(config.get("url") or "", None, bundle, versions)
        service = (given["namespace"], given["name"], given.get("port") or 443)
        host = f"{given['name']}.{given['namespace']}.svc"
        url = f"https://{host}:{service[2]}{given.get('path') or '/'}"
        return cls(url, service, bundle, versions)

    @property
    def asked(self) -> str:
        return f"{self.url}?timeout={TIMEOUT_S:.0f}s"


class ConversionWebhook:
    """Connections are kept while the definition says the same; ``close`` ends them."""

    def __init__(self, target: Target, resolve: Resolve, clock: Clock) -> None:
        self.target = target
        self._resolve = resolve
        self._clock = clock
        self._client: HttpClient | None = None
        self._is_retired = False

    async def convert(self, objects: Sequence[JsonObject], desired: str) -> list[JsonObject]:
        """One call for all. Raises PlainError."""
        version = next((v for v in self.target.review_versions if v in KNOWN_VERSIONS), None)
        if version is None:
            raise PlainError("no supported conversion review versions")
        review = Review(str(uuid.uuid4()), version, desired, objects)
        try:
            async with deadline(self._clock, TIMEOUT_S):
                answer = await self._post(review.body())
        except (TransportError, TimeoutError, Unreachable, ssl.SSLError) as error:
            said = f'Post "{self.target.asked}": {self._why(error)}'
            raise PlainError(f"conversion webhook for {review.source} failed: {said}") from error
        finally:
            if self._is_retired:
                await self.close()
        if not 200 <= answer.status <= 206:
            said = _refusal(answer)
            raise ConversionRefused(f"conversion webhook for {review.source} failed: {said}")
        try:
            return review.converted(answer.body)
        except BadReview as bad:
            raise ConversionRefused(str(bad)) from bad

    async def close(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            await client.close()

    async def retire(self) -> None:
        """Close once the calls under way are answered; one that comes late closes after itself."""
        self._is_retired = True
        client, self._client = self._client, None
        if client is not None:
            await client.retire()

    async def _post(self, body: bytes) -> Response:
        url, headers = self.target.asked, dict(_HEADERS)
        if self.target.service is not None:
            # The certificate names the service; the connection goes to one of its addresses.
            host, port = self._resolve(*self.target.service)
            parts = urlsplit(url)
            headers["Host"] = parts.netloc
            place = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
            url = parts._replace(netloc=place).geturl()
        if self._client is None:
            from proreus.net.http_client import HttpClient, Route

            name = urlsplit(self.target.url).hostname if self.target.service else None
            self._client = HttpClient(Route(ssl=self._trust(), server_hostname=name))
        return await self._client.request("POST", url, headers, body)

    def _trust(self) -> ssl.SSLContext:
        if not self.target.ca_bundle:
            return ssl.create_default_context()
        try:
            authorities = base64.b64decode(self.target.ca_bundle).decode("ascii")
        except (binascii.Error, UnicodeDecodeError) as error:
            raise Unreachable("unable to load root certificates") from error
        return ssl.create_default_context(cadata=authorities)

    def _why(self, error: Exception) -> str:
        """In the words of Go's HTTP client."""
        at = urlsplit(self.target.url)
        match error:
            case ConnectionRefused():
                return f"dial tcp {at.hostname}:{at.port or 443}: connect: connection refused"
            case TlsFailed() if "local issuer" in error.why or "self-signed" in error.why:
                unknown = "x509: certificate signed by unknown authority"
                return f"tls: failed to verify certificate: {unknown}"
            case TlsFailed():
                return f"tls: failed to verify certificate: {error.why.removeprefix('TLS: ')}"
            case TransportTimeout() | TimeoutError():
                return "context deadline exceeded"
            case ConnectionLost():
                return "EOF"
            case TransportError():
                return error.why
            case _:
                return str(error)

    def __repr__(self) -> str:
        return f"<ConversionWebhook {self.target.url}>"


def _refusal(answer: Response) -> str:
    try:
        said = json.decode(answer.body)
    except ValueError:
        said = None
    if isinstance(said, dict) and said.get("kind") == "Status" and said.get("message"):
        return str(said["message"])
    if (known := _SAID_BY_CODE.get(answer.status)) is not None:
        return known
    if answer.status >= 500:
        text = answer.body.decode("utf-8", "replace").strip()
        return f'an error on the server ("{text}") has prevented the request from succeeding'
    return "the server rejected our request for an unknown reason"
