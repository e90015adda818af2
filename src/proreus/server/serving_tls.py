"""What a server shows to clients and asks of them in TLS: certificates, and authorities of theirs.

It shows its own certificate, or one that it was given. Then its own is for those who trust the
cluster's authority and connect to it by address: the parts of the cluster, pods, and whoever has
the kubeconfig that it wrote (kube-apiserver has a certificate for itself likewise).
"""

from __future__ import annotations

import ssl

from proreus.lazy_dataclass import dataclass
from proreus.net.addresses import is_loopback
from proreus.net.http1.server import offer_protocols
from proreus.net.tls.certificates import TlsFiles
from proreus.net.tls.contexts import server_context, showing_own_at
from proreus.net.tls.key_pairs import KeyPair, PairFiles
from proreus.server.authn.building import BuiltAuthentication
from proreus.server.authn.client_authorities import TrustedAuthorities
from proreus.server.authn.options import AuthenticationInvalid
from proreus.server.config import ConfigInvalid, ServerConfig
from proreus.server.config_files.followed_tls import TlsFilesInvalid


@dataclass(frozen=True, slots=True)
class ServingFiles:
    """What all the files have."""

    own: KeyPair
    given: KeyPair | None
    authorities: TrustedAuthorities


@dataclass(frozen=True, slots=True)
class ServingTls:
    config: ServerConfig
    files: TlsFiles
    callers: BuiltAuthentication

    def read(self) -> ServingFiles:
        """Raises OSError, TlsFilesInvalid."""
        given = self.config.serving
        try:
            authorities = self.callers.authorities.read()
        except AuthenticationInvalid as error:
            raise TlsFilesInvalid(str(error)) from error
        return ServingFiles(
            own=self.files.server.read(),
            given=None if given is None else _read_given(given),
            authorities=authorities,
        )

    def context(self, found: ServingFiles) -> ssl.SSLContext:
        """Raises OSError, UnusableFiles, TlsFilesInvalid."""
        own = self._context(self.files.server, found)
        given = self.config.serving
        if given is None:
            return own
        _check_pair(given)
        # The one that a client is sent to by its address negotiates protocols by itself.
        offer_protocols(own, has_http2=bool(self.config.http2_streams))
        return showing_own_at(self._context(given, found), own, self._is_own_address)

    def first_context(self) -> ssl.SSLContext:
        """Raises ConfigInvalid, OSError, UnusableFiles."""
        try:
            return self.context(self.read())
        except TlsFilesInvalid as error:
            raise ConfigInvalid(str(error)) from error

    def use(self, found: ServingFiles) -> None:
        self.callers.authorities.use(found.authorities)

    def _context(self, pair: PairFiles, found: ServingFiles) -> ssl.SSLContext:
        return server_context(pair, found.authorities.pem, resumes=self.callers.may_resume)

    def _is_own_address(self, address: str) -> bool:
        return is_loopback(address) or address == self.config.bind_address


def _read_given(files: PairFiles) -> KeyPair:
    """Of the administrator, whose the files are, and who may read them."""
    return KeyPair(files.certificate.read_bytes(), files.key.read_bytes())


def _check_pair(files: PairFiles) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        # Without a password a terminal would be asked for one.
        context.load_cert_chain(files.certificate, files.key, password="")
    except (ssl.SSLError, ValueError) as error:
        said = f"tls-cert-file {files.certificate} and tls-private-key-file {files.key}"
        raise TlsFilesInvalid(f"{said} are not a certificate and its key") from error
