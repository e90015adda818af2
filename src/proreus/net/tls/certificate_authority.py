"""The authority of a cluster: issues the client certificates that its servers accept.

Everyone who gets one gets it here: the cluster's own parts, users, and who sends a signing request.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from proreus.lazy_dataclass import dataclass
from proreus.net.tls.certificates import authority_files
from proreus.net.tls.key_pairs import KeyPair, PairFiles


class NoAuthority(Exception):
    """The folder has no authority: no server with TLS was ever started on it."""


@dataclass(frozen=True, slots=True)
class CertificateAuthority:
    """Holds no key: each certificate is issued with what the files have then."""

    files: PairFiles

    @classmethod
    def of(cls, folder: Path) -> CertificateAuthority:
        """The one that ``certificates.ensure_files`` made there. Raises NoAuthority."""
        files = authority_files(folder)
        if not files.key.exists():
            raise NoAuthority(f"there is no certificate authority in {folder}")
        return cls(files)

    @property
    def certificate(self) -> bytes:
        """PEM; servers' certificates are signed by it, too."""
        return self.files.certificate.read_bytes()

    def issue_client(
        self, user: str, groups: Iterable[str] = (), *, lasts_s: float, now: float
    ) -> KeyPair:
        """A new key and a certificate for it: common name ``user``, an organisation per group.

        Raises ValueError for names that a certificate cannot hold, NotPrivate. Slow the first time:
        it loads ``cryptography``.
        """
        from proreus.net.tls.issuing import issue_client

        return issue_client(self.files.read(), user, groups, now=now, lasts_s=lasts_s)
