"""A verified client certificate: its common name is the user, its organisations the groups.

The certificate that API servers present to kubelets is an exception. It is signed by the same
authority, since that is the one kubelets trust, and the address of a kubelet comes from a Node
object: were it a credential here, any author of a Node could use it against an API server.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from proreus.net.tls.certificates import KUBELET_CLIENT, subject_of
from proreus.server.authn.token_check import Rejected
from proreus.server.registry.user import CREDENTIAL_ID, User, as_authenticated

UID_ATTRIBUTE = "1.3.6.1.4.1.57683.2"
_USERS_MAX = 1024
UNKNOWN_AUTHORITY = "x509: certificate signed by unknown authority"


class ClientCertificates:
    """``authorities``: digests of those whose certificates are users'; None: all that TLS accepts.

    Connections outlive certificates, so that the end of one is looked at again for every request.
    """

    def __init__(self, authorities: Callable[[], frozenset[str]] | None = None) -> None:
        self._authorities = authorities
        self._users: dict[str, User] = {}  # by the digests of certificates that were read

    def check(self, certificate: Mapping[str, Any], now: float) -> User | Rejected | None:
        """None for a certificate that names nobody."""
        if certificate.get("expires", now) < now:
            return Rejected("x509: certificate has expired or is not yet valid")
        digest = certificate.get("sha256", "")
        if self._authorities is not None and not is_issued_by(certificate, self._authorities()):
            return Rejected(UNKNOWN_AUTHORITY)
        known = self._users.get(digest)
        if known is not None:
            return known
        found = _user(certificate)
        if digest and isinstance(found, User):
            if len(self._users) >= _USERS_MAX:
                self._users.clear()
            self._users[digest] = found
        return found


def is_issued_by(certificate: Mapping[str, Any], authorities: frozenset[str]) -> bool:
    return not authorities.isdisjoint(certificate.get("authorities", ()))


def _user(certificate: Mapping[str, Any]) -> User | Rejected | None:
    name, groups = subject_of(certificate)
    if name == KUBELET_CLIENT:
        return Rejected("the certificate is for kubelets")
    if not name:
        return None
    uids = [
        value
        for relative_name in certificate.get("subject", ())
        for key, value in relative_name
        if key == UID_ATTRIBUTE
    ]
    if len(uids) > 1:
        return Rejected(f"expected 1 UID, but found multiple: [{' '.join(uids)}]")
    if uids == [""]:
        return Rejected("UID cannot be an empty string")
    digest = certificate.get("sha256")
    extra = {CREDENTIAL_ID: (f"X509SHA256={digest}",)} if digest else {}
    return as_authenticated(User(name, groups, uids[0] if uids else "", extra))
