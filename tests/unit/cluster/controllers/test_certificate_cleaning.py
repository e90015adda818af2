"""When a signing request is of no use any more."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from cryptography import x509

from proreus.api.object import KubeObject
from proreus.api.values.timestamp import format_time
from proreus.cluster.controllers.certificates.cleaning import is_outdated
from proreus.net.tls.issuing import make_authority
from proreus.net.tls.signing import sign_request
from tests.signing import request_pem

NOW = 1_800_000_000.0
HOUR_S = 3600.0
AUTHORITY = make_authority("test", now=NOW - 30 * 86400)


def request(created_s: float, *kinds: tuple[str, float], certificate: bytes = b"") -> KubeObject:
    """Conditions by their ages."""
    status: dict[str, Any] = {
        "conditions": [
            {"type": kind, "status": "True", "lastUpdateTime": format_time(NOW - age_s)}
            for kind, age_s in kinds
        ]
    }
    if certificate:
        status["certificate"] = base64.b64encode(certificate).decode()
    created = format_time(NOW - created_s)
    return KubeObject.from_dict(
        {"metadata": {"name": "r", "creationTimestamp": created}, "status": status}
    )


def certificate(issued_s: float) -> bytes:
    """Good for ten minutes."""
    asked = x509.load_pem_x509_csr(request_pem("a"))
    return sign_request(AUTHORITY, asked, ["client auth"], now=NOW - issued_s, lasts_s=600)


@pytest.mark.parametrize(
    ("found", "outdated"),
    [
        (request(23 * HOUR_S), False),
        (request(25 * HOUR_S), True),
        (request(25 * HOUR_S, ("Denied", 0.5 * HOUR_S)), False),
        (request(25 * HOUR_S, ("Denied", 1.5 * HOUR_S)), True),
        (request(25 * HOUR_S, ("Approved", 2 * HOUR_S), ("Failed", 0.5 * HOUR_S)), False),
        (request(25 * HOUR_S, ("Approved", 2 * HOUR_S), ("Failed", 1.5 * HOUR_S)), True),
        (request(25 * HOUR_S, ("Approved", 23 * HOUR_S)), False),  # nobody has signed it yet
        (request(26 * HOUR_S, ("Approved", 25 * HOUR_S)), True),
        (request(HOUR_S, ("Approved", 60.0), certificate=certificate(60)), False),
        (request(2 * HOUR_S, ("Approved", 1.5 * HOUR_S), certificate=certificate(60)), True),
        (request(HOUR_S, ("Approved", 700.0), certificate=certificate(700)), True),  # has expired
        (request(HOUR_S, ("Approved", 700.0), certificate=b"another signer's"), False),
    ],
)
def test_requests_are_kept_for_an_hour_after_their_end_and_for_a_day_before(
    found: KubeObject, outdated: bool
) -> None:
    assert is_outdated(found, NOW) is outdated
