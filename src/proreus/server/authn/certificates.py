"""A verified client certificate: its common name is the user, its organisations the groups."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from proreus.net.tls import subject_of
from proreus.server.registry.user import AUTHENTICATED, CREDENTIAL_ID, User


def user_of_certificate(certificate: Mapping[str, Any]) -> User | None:
    name, groups = subject_of(certificate)
    if not name:
        return None
    digest = certificate.get("sha256")
    extra = {CREDENTIAL_ID: (f"X509SHA256={digest}",)} if digest else {}
    return User(name, (*groups, AUTHENTICATED), extra=extra)
