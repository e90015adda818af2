"""Failures below HTTP: the peer said nothing, or nothing that can be read.

TransportError                the exchange broke; ``ApiError`` is what the server says instead
├── ConnectFailed             no connection, so nothing was sent
│   ├── AddressNotAllowed     the caller forbids connections to this address
│   ├── ConnectionRefused     no server listens there
│   └── TlsFailed             the handshake failed: unknown CA, wrong name, no certificate
├── NotPermitted              the caller's own permit was withdrawn, so nothing was sent
├── ConnectionLost            closed or reset in the middle; the request may have been done
├── TransportTimeout          a deadline passed
│   └── StreamSilent          an open stream said nothing for too long
└── ProtocolError             the peer's bytes are not HTTP, or break its rules
"""

from __future__ import annotations


class TransportError(Exception):
    """The exchange with ``url`` broke."""

    def __init__(self, url: str, why: str) -> None:
        super().__init__(f"{url}: {why}")
        self.url = url
        self.why = why

    def __reduce__(self) -> tuple[type[TransportError], tuple[str, str]]:
        return type(self), (self.url, self.why)


class ConnectFailed(TransportError):
    """No connection could be made; the request was not sent."""


class AddressNotAllowed(ConnectFailed):
    """The route forbids connections to the address that the host resolved to."""


class ConnectionRefused(ConnectFailed):
    """No server listens at the address."""


class TlsFailed(ConnectFailed):
    """The TLS handshake failed."""


class NotPermitted(TransportError):
    """A write that was not sent: its sender may not act any more (a leader that lost its lease)."""


class ConnectionLost(TransportError):
    """The connection ended in the middle; the server may or may not have done its part."""


class TransportTimeout(TransportError):
    """A deadline passed."""


class StreamSilent(TransportTimeout):
    """An open stream said nothing for longer than a living one would."""


class ProtocolError(TransportError):
    """The peer breaks the rules of HTTP."""
