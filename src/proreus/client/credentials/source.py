"""What a credential is, and who gives the present one."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

from proreus.net.client.transport_error import ConnectFailed


class CredentialError(ConnectFailed):
    """No credential can be had now, so nothing was sent; the message says from where and why.

    Whoever asks again later may get one: a program that prints credentials asks a service over the
    network, a token file is being written. So it is handled like a server that cannot be reached.
    """

    def __init__(self, why: str) -> None:
        super().__init__("", why)
        self.args = (why,)

    def __reduce__(self) -> tuple[type[CredentialError], tuple[str]]:  # type: ignore[override]
        return type(self), (self.why,)  # one argument, where its parents take two


@dataclass(frozen=True, slots=True)
class Credential:
    """The Authorization header, and a client certificate if the source hands one out."""

    authorization: str = field(default="", repr=False)
    cert_data: bytes | None = None
    key_data: bytes | None = field(default=None, repr=False)


class CredentialSource(Protocol):
    """Asked before every request, so it must be cheap while nothing changed."""

    async def current(self) -> Credential:
        """The credential to use now. Raises ``CredentialError`` if there is none."""
        ...

    def refused(self, used: Credential) -> None:
        """The server answered 401 to ``used``: the next ``current`` must not be the same."""
        ...


class Fixed:
    """A credential that never changes; the empty one is none."""

    def __init__(self, credential: Credential) -> None:
        self._credential = credential

    async def current(self) -> Credential:
        return self._credential

    def refused(self, used: Credential) -> None:
        """Nothing else can be tried."""
