"""The connections of a client: made for the present credentials, replaced when those change.

Invariant: a request never travels on a connection that was made with another certificate.
"""

from __future__ import annotations

import os
import ssl
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from proreus.aio.clock import Clock
from proreus.client.client_config import ClientConfig, ConfigError
from proreus.client.config.proxy import proxy_from_env
from proreus.client.credentials import (
    Credential,
    CredentialSource,
    TlsIdentity,
    credential_source,
)
from proreus.client.fence import may_write
from proreus.net.addresses import is_loopback

if TYPE_CHECKING:
    from proreus.net.client.transport import Transport


@dataclass(frozen=True, slots=True)
class Connected:
    """A pool to send on and the credential to send along."""

    http: Transport
    credential: Credential


class Connections:
    """One pool at a time; ``current`` swaps it when the TLS identity has changed."""

    def __init__(
        self, config: ClientConfig, clock: Clock, credentials: CredentialSource | None = None
    ) -> None:
        self._config = config
        self._proxy = config.proxy_url or proxy_from_env(config.host, os.environ)
        if self._proxy and urlsplit(self._proxy).scheme not in ("http", "https"):
            raise ConfigError(f"proxy {self._proxy!r}: only http and https proxies are supported")
        self._credentials = credentials or credential_source(config, clock)
        is_secure = config.host.startswith("https:")
        self._tls = TlsIdentity(config.tls, clock) if is_secure else None
        self._context: ssl.SSLContext | None = None
        self._connected: Connected | None = None
        self._is_closed = False

    async def current(self) -> Connected:
        if self._is_closed:
            raise RuntimeError("the client is closed")
        credential = await self._credentials.current()
        context = self._tls.context(credential) if self._tls is not None else None
        present = self._connected
        if present is None or context is not self._context:
            made = Connected(self._make(context), credential)
            self._connected, self._context = made, context
            if present is not None:
                await present.http.retire()
            return made
        if credential is not present.credential:
            present = self._connected = Connected(present.http, credential)
        return present

    def refused(self, credential: Credential) -> None:
        """The server did not accept it: the next request must not use it again."""
        self._credentials.refused(credential)

    async def close(self) -> None:
        self._is_closed = True
        if self._connected is not None:
            await self._connected.http.close()

    def _make(self, context: ssl.SSLContext | None) -> Transport:
        # Imported at the first request: a program that only reads its configuration needs none.
        from proreus.net.client.connectors import Route
        from proreus.net.client.http_client import HttpClient

        host = urlsplit(self._config.host).hostname or ""
        route = Route(
            ssl=context,
            server_hostname=self._config.tls.server_name,
            proxy=self._proxy,
            compressed=not self._config.disable_compression and not is_loopback(host),
            permit=may_write,
        )
        return (self._config.transport or HttpClient)(route)
