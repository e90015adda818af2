"""Whose certificates clients may show: users', and those of proxies in front of the server.

Those in files may change while the server runs: ``read`` says what they have, ``use`` puts it into
force, for handshakes from then on and for requests on connections that are open.
"""

from __future__ import annotations

from pathlib import Path

from proreus.lazy_dataclass import dataclass
from proreus.server.authn.authorities import Authorities


@dataclass(frozen=True, slots=True)
class TrustedAuthorities:
    clients: Authorities
    proxies: Authorities

    @property
    def pem(self) -> str:
        """Of all that TLS asks clients' certificates of."""
        return (self.clients + self.proxies).pem


class ClientAuthorities:
    """``own``: the PEM of the server's, "" for none. Raises AuthenticationInvalid."""

    def __init__(self, own: str, client_file: Path | None, proxy_file: Path | None) -> None:
        self._own = Authorities.parse(own) if own else Authorities()
        self._client_file = client_file
        self._proxy_file = proxy_file
        self.present = self.read()

    def read(self) -> TrustedAuthorities:
        """Raises AuthenticationInvalid."""
        clients, proxies = self._own, Authorities()
        if self._client_file is not None:
            clients += Authorities.read(self._client_file, "client-ca-file")
        if self._proxy_file is not None:
            proxies = Authorities.read(self._proxy_file, "requestheader-client-ca-file")
        return TrustedAuthorities(clients, proxies)

    def use(self, found: TrustedAuthorities) -> None:
        self.present = found

    def client_digests(self) -> frozenset[str]:
        return self.present.clients.digests

    def proxy_digests(self) -> frozenset[str]:
        return self.present.proxies.digests
