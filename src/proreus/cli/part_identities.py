"""Who the parts of ``proreus up`` are: users of the cluster's policy, none of them the admin.

Each has a certificate of its own, issued when this process starts and kept in memory only.
"""

from __future__ import annotations

from proreus.client import ClientConfig, TlsSettings
from proreus.cluster.components import Component
from proreus.lazy_dataclass import dataclass
from proreus.net.tls.certificate_authority import CertificateAuthority
from proreus.net.tls.key_pairs import LASTING_S


@dataclass(frozen=True, slots=True)
class PartIdentities:
    url: str
    authority: CertificateAuthority

    def config(self, part: Component, now: float) -> ClientConfig:
        """How the part reaches the server. Blocks: certificates are made."""
        assert part.user, part.name
        pair = self.authority.issue_client(part.user, part.groups, lasts_s=LASTING_S, now=now)
        tls = TlsSettings(
            ca_data=self.authority.certificate, cert_data=pair.certificate, key_data=pair.key
        )
        return ClientConfig(self.url, tls=tls)
