"""Trust bundles: certificates of authorities, and the names of the bundles."""

from __future__ import annotations

import pytest

from tests.unit.server.kinds.creating import created, errors, updated
from tests.unit.server.kinds.signing import certificate, pem

CERTIFICATES = "certificates.k8s.io/v1"
OMITTED = 'spec.trustBundle: Invalid value: "<value omitted>":'


def bundle_errors(text: bytes, name: str = "a", signer: str = "") -> list[str]:
    spec = {"trustBundle": text.decode(), "signerName": signer}
    return errors(CERTIFICATES, "ClusterTrustBundle", metadata={"name": name}, spec=spec)


def test_a_bundle_holds_certificates_of_authorities_each_once() -> None:
    good, leaf = certificate(of_authority=True), certificate(of_authority=False)

    assert bundle_errors(good + b"between\n" + certificate(of_authority=True)) == []
    assert bundle_errors(b"") == [f"{OMITTED} at least one trust anchor must be provided"]
    assert bundle_errors(good + good) == [f"{OMITTED} duplicate trust anchor (indices [0 1])"]
    assert bundle_errors(leaf + pem("X", b"x") + pem("CERTIFICATE", b"x")) == [
        f"{OMITTED} entry 0 does not have the CA bit set",
        f"{OMITTED} entry 1 has bad block type: X",
        f"{OMITTED} entry 2 does not parse as X.509",
    ]
    assert bundle_errors(pem("CERTIFICATE", b"x", "a: b\n\n")) == [
        f"{OMITTED} entry 0 has PEM block headers"
    ]


@pytest.mark.parametrize(
    ("name", "signer", "problems"),
    [
        ("a", "", []),
        ("example.com:any:a", "example.com/any", []),
        ("a", "example.com/any",
         ['metadata.name: Invalid value: "a": ClusterTrustBundle for signerName example.com/any '
          "must be named with prefix example.com:any:"]),
        ("example.com:any:a", "",
         ['metadata.name: Invalid value: "example.com:any:a": ClusterTrustBundle without signer '
          'name must not have ":" in its name']),
    ],
)  # fmt: skip
def test_a_bundle_is_named_after_its_signer(name: str, signer: str, problems: list[str]) -> None:
    assert bundle_errors(certificate(of_authority=True), name, signer) == problems


def test_a_bundle_that_stays_as_it_is_is_not_parsed_again() -> None:
    old = created(CERTIFICATES, "ClusterTrustBundle", spec={"trustBundle": "from before"})

    assert updated(old, {"metadata": {"labels": {"a": "b"}}})[1] == []
    assert updated(old, {"spec": {"trustBundle": "x"}})[1] == [
        f"{OMITTED} at least one trust anchor must be provided"
    ]
