"""Reads signing requests. Loads ``cryptography``, so it is called in a thread."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING

from proreus.api.object import KubeObject
from proreus.client.conditions import is_true
from proreus.client.controller import TerminalError

if TYPE_CHECKING:
    from cryptography.x509 import CertificateSigningRequest

    from proreus.net.tls.signing_requests import SigningRequest


def read(request: KubeObject) -> tuple[CertificateSigningRequest, SigningRequest]:
    """As it came, and as values. Raises TerminalError: a server accepted what this cannot read."""
    from cryptography.x509 import load_pem_x509_csr

    from proreus.net.tls.signing_requests import SigningRequest

    try:
        loaded = load_pem_x509_csr(base64.b64decode(request.spec.request))
        return loaded, SigningRequest.of(loaded)
    except ValueError as error:
        raise TerminalError(f"unable to parse csr {request.name}") from error


def is_approved(request: KubeObject) -> bool:
    return is_true(request, "Approved") and not is_true(request, "Denied")


def is_decided(request: KubeObject) -> bool:
    return is_true(request, "Approved") or is_true(request, "Denied")


def is_issued(request: KubeObject) -> bool:
    return bool((request.status or {}).get("certificate"))
