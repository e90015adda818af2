"""The keys of one issuer: found by its discovery document, fetched over HTTPS, kept up to date.

They are fetched once in the beginning, however long that takes, then hourly, and when a token is
signed with a key that is not known, but not more often than every ten seconds, whoever asks. While
an issuer cannot be reached its last keys stay good.
"""

from __future__ import annotations

import contextlib
import ssl
from urllib.parse import urlsplit

import structlog

from proreus.aio.clock import Clock, deadline
from proreus.aio.gate import Gate, Waterline
from proreus.api.go_text import quoted
from proreus.api.wire import json
from proreus.net.client.transport_error import TransportError
from proreus.server.authn.jwt.config import Issuer
from proreus.server.authn.jwt.keys import VerificationKey, parse_jwks
from proreus.server.authn.metrics import AuthenticationMetrics

WELL_KNOWN = "/.well-known/openid-configuration"
REFRESH_S = 3600.0
RETRY_S = 10.0  # also the shortest time between two fetches
_TIMEOUT_S = 30.0
_BYTES_MAX = 1024 * 1024
_log = structlog.get_logger(__name__)


class IssuerFailed(Exception):
    """What an issuer answered cannot be used, or there is no answer."""


class IssuerKeys:
    """``keys`` is None until they were fetched for the first time. ``run`` fetches them."""

    def __init__(self, issuer: Issuer, metrics: AuthenticationMetrics, clock: Clock) -> None:
        self.issuer = issuer
        self.keys: tuple[VerificationKey, ...] | None = None
        self._metrics = metrics
        self._clock = clock
        self._wanted = Gate()
        self._fetches = Waterline()
        self._last = float("-inf")
        self._is_failing = False

    async def run(self) -> None:
        while True:
            await self._fetch()
            self._wanted.shut()
            self._fetches.rise_to(self._fetches.level + 1)
            if self.keys is None:
                await self._clock.sleep(RETRY_S)
                continue
            with contextlib.suppress(TimeoutError):
                async with deadline(self._clock, REFRESH_S):
                    await self._wanted.wait_open()

    async def refresh(self) -> bool:
        """Fetch the keys again for a token that none of them fits. False: that was done just now.

        Returns once it is done, successful or not; the caller's request has a deadline.
        """
        if self._clock.monotonic() - self._last < RETRY_S:
            return False
        self._wanted.open()
        await self._fetches.wait_for(self._fetches.level + 1)
        return True

    async def _fetch(self) -> None:
        self._last = self._clock.monotonic()
        try:
            self.keys = parse_jwks(await self._get(await self._keys_url()))
        except (IssuerFailed, TransportError, TimeoutError, ValueError, ssl.SSLError) as error:
            if not self._is_failing:
                why = str(error) or "no answer in time"
                _log.error("keys of an issuer not fetched", issuer=self.issuer.url, error=why)
            self._is_failing = True
        else:
            if self._is_failing:
                _log.info("keys of an issuer fetched again", issuer=self.issuer.url)
            self._is_failing = False
        is_success = not self._is_failing
        self._metrics.note_fetch(self.issuer.url, is_success=is_success, now=self._clock.now())

    async def _keys_url(self) -> str:
        """Raises IssuerFailed, TransportError, TimeoutError, ValueError."""
        own = self.issuer.url
        url = self.issuer.discovery_url or own.removesuffix("/") + WELL_KNOWN
        document = json.decode(await self._get(url))
        if not isinstance(document, dict):
            raise IssuerFailed("its configuration is not an object")
        if (named := document.get("issuer")) != own:
            expected = f"expected {quoted(own)} got {quoted(str(named))}"
            why = f"issuer did not match the issuer returned by provider, {expected}"
            raise IssuerFailed(f"oidc: {why}")
        found = document.get("jwks_uri")
        if not isinstance(found, str) or urlsplit(found).scheme != "https":
            raise IssuerFailed("its configuration names no jwks_uri of HTTPS")
        return found

    async def _get(self, url: str) -> bytes:
        """Redirects are not followed. Raises IssuerFailed, TransportError, TimeoutError."""
        from proreus.net.client.connectors import Route
        from proreus.net.client.http_client import HttpClient

        trust = ssl.create_default_context(cadata=self.issuer.authority or None)
        route = Route(ssl=trust, compressed=False, follow_redirects=False)
        async with deadline(self._clock, _TIMEOUT_S), HttpClient(route) as client:
            headers = {"Accept": "application/json"}
            async with client.stream("GET", url, headers, None) as answer:
                body = await answer.read(_BYTES_MAX + 1)
        if answer.status != 200:
            raise IssuerFailed(f"{url} answered {answer.status}")
        if len(body) > _BYTES_MAX:
            raise IssuerFailed(f"{url} answered more than {_BYTES_MAX} bytes")
        return body

    def __repr__(self) -> str:
        known = "none yet" if self.keys is None else len(self.keys)
        return f"<IssuerKeys of {self.issuer.url}: {known}>"
