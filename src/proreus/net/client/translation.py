"""What the HTTP library raises, as one of our ``TransportError``."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import Iterator

import aiohttp

from proreus.net.client.connectors import AddressForbidden
from proreus.net.client.transport_error import (
    AddressNotAllowed,
    ConnectFailed,
    ConnectionLost,
    ConnectionRefused,
    ProtocolError,
    TlsFailed,
    TransportError,
    TransportTimeout,
)


@contextlib.contextmanager
def translated(url: str) -> Iterator[None]:
    """The library's exceptions, as ours."""
    try:
        yield
    except (aiohttp.ClientError, OSError, asyncio.IncompleteReadError, EOFError) as failure:
        raise translate(url, failure) from failure
    except RuntimeError as failure:
        if "closed" not in str(failure).lower():
            raise
        raise ConnectionLost(url, "the client was closed") from failure


def translate(url: str, failure: Exception) -> TransportError:
    """Which of our errors the library's one is."""
    why = str(failure) or type(failure).__name__
    match failure:
        case aiohttp.ClientSSLError() | aiohttp.ServerFingerprintMismatch() | ssl.SSLError():
            return TlsFailed(url, _tls_reason(failure))
        case aiohttp.ClientConnectorError(os_error=AddressForbidden()):
            return AddressNotAllowed(url, "address not allowed")
        case aiohttp.ClientConnectorError(os_error=ConnectionRefusedError()):
            return ConnectionRefused(url, "connection refused")
        case aiohttp.ClientConnectorError(os_error=cause):
            return ConnectFailed(url, cause.strerror or str(cause) or why)
        case aiohttp.ClientHttpProxyError():
            return ConnectFailed(url, f"the proxy answered {failure.status} {failure.message}")
        case aiohttp.ConnectionTimeoutError():
            return TransportTimeout(url, "no connection before the deadline")
        case TimeoutError():
            return TransportTimeout(url, "no answer before the deadline")
        case aiohttp.ClientPayloadError() | aiohttp.ServerDisconnectedError():
            return ConnectionLost(url, "the server closed the connection in the middle")
        case aiohttp.ClientConnectionError() | ConnectionError() | EOFError():
            return ConnectionLost(url, why)
        case aiohttp.ClientResponseError() | aiohttp.InvalidURL() | aiohttp.ClientError():
            return ProtocolError(url, why)
        case _:
            return ConnectionLost(url, why)


def _tls_reason(failure: Exception) -> str:
    cause = getattr(failure, "certificate_error", None) or getattr(failure, "os_error", None)
    text = getattr(cause, "verify_message", "") or str(cause or failure)
    return f"TLS: {text}"
