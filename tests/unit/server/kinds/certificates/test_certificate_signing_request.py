"""Signing requests, and what their signers answer."""

from __future__ import annotations

from base64 import b64decode, b64encode
from typing import Any

import pytest

from tests.unit.server.kinds.creating import created, errors, status_errors
from tests.unit.server.kinds.signing import certificate, pem, signing_request

CERTIFICATES = "certificates.k8s.io/v1"


def request_errors(request: bytes | None = None, **spec: Any) -> list[str]:
    text = b64encode(signing_request() if request is None else request).decode()
    whole = {"request": text, "signerName": "example.com/s", "usages": ["client auth"], **spec}
    found = errors(CERTIFICATES, "CertificateSigningRequest", spec=whole)
    return [problem.replace(text, "TEXT") if text else problem for problem in found]


def forged_request() -> bytes:
    lines = signing_request().decode().split("\n")
    body = bytearray(b64decode("".join(lines[1:-2])))
    body[-1] ^= 1
    return pem("CERTIFICATE REQUEST", bytes(body))


@pytest.mark.parametrize(
    ("request_text", "why"),
    [
        (b"not pem", "PEM block type must be CERTIFICATE REQUEST"),
        (pem("CERTIFICATE", b"x"), "PEM block type must be CERTIFICATE REQUEST"),
        (pem("CERTIFICATE REQUEST", b""), "asn1: syntax error: sequence truncated"),
        (pem("CERTIFICATE REQUEST", b"\x30\x82\x01"),
         "asn1: syntax error: truncated tag or length"),
        (pem("CERTIFICATE REQUEST", b"\x30\x05\x01"), "asn1: syntax error: data truncated"),
        (pem("CERTIFICATE REQUEST", b"\x30\x00\x01"), "asn1: syntax error: trailing data"),
        (pem("CERTIFICATE REQUEST", b"nope"),
         "asn1: structure error: tags don't match (16 vs {class:1 tag:14 length:111 "
         "isCompound:true}) {optional:false explicit:false application:false private:false "
         "defaultValue:<nil> tag:<nil> stringType:0 timeType:0 set:false omitEmpty:false} "
         "certificateRequest @2"),
    ],
)  # fmt: skip
def test_a_request_is_a_signed_pkcs10_request_in_pem(request_text: bytes, why: str) -> None:
    assert request_errors(request_text) == [f'spec.request: Invalid value: "TEXT": {why}']


def test_a_request_is_signed_by_its_own_key() -> None:
    assert request_errors() == []
    assert request_errors(forged_request()) == [
        'spec.request: Invalid value: "TEXT": x509: ECDSA verification failure'
    ]


@pytest.mark.parametrize(
    ("spec", "problems"),
    [
        ({"usages": []}, ["spec.usages: Required value"]),
        ({"usages": ["any", "any"]}, ['spec.usages[1]: Duplicate value: "any"']),
        ({"signerName": ""}, ["spec.signerName: Required value"]),
        ({"signerName": "kubernetes.io/legacy-unknown"},
         ['spec.signerName: Invalid value: "kubernetes.io/legacy-unknown": the legacy signerName '
          "is not allowed via this API version"]),
        ({"signerName": "nodomain"},
         ['spec.signerName: Invalid value: "nodomain": must be a fully qualified domain and path '
          "of the form 'example.com/signer-name'"]),
        ({"signerName": "com/x"},
         ['spec.signerName: Invalid value: "com": should be a domain with at least two segments '
          "separated by dots"]),
        ({"expirationSeconds": 599},
         ["spec.expirationSeconds: Invalid value: 599: may not specify a duration less than 600 "
          "seconds (10 minutes)"]),
    ],
)  # fmt: skip
def test_what_a_request_asks_for(spec: dict[str, Any], problems: list[str]) -> None:
    assert request_errors(**spec) == problems


@pytest.mark.parametrize("half", ["UP.com/x", "example.com/UP"])
def test_a_half_of_a_signers_name_is_rendered_alone(half: str) -> None:
    [problem] = request_errors(signerName=half)

    domain, path = half.split("/")
    assert 'validating label "UP": a lowercase RFC 1123' in problem
    assert f'Invalid value: "{domain if "UP" in domain else path}"' in problem


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (b"x", "must contain at least one CERTIFICATE PEM block"),
        (pem("X", b"x"), 'only CERTIFICATE PEM blocks are allowed, found "X"'),
        (pem("CERTIFICATE", b"x", "a: b\n\n"), "no PEM block headers are permitted"),
        (pem("CERTIFICATE", b""), "found CERTIFICATE PEM block containing 0 certificates"),
        (pem("CERTIFICATE", b"x"), "x509: malformed certificate"),
    ],
)
def test_a_signer_answers_with_certificates_and_nothing_else(text: bytes, why: str) -> None:
    spec = {
        "request": b64encode(signing_request()).decode(),
        "signerName": "example.com/s",
        "usages": ["any"],
    }
    old = created(CERTIFICATES, "CertificateSigningRequest", spec=spec)

    good = b64encode(certificate(of_authority=False)).decode()
    bad = status_errors(old, {"certificate": b64encode(text).decode()})

    assert status_errors(old, {"certificate": good}) == []
    assert bad == [f'status.certificate: Invalid value: "<certificate data>": {why}']
