"""A certificate says what was asked for and what the signer allows, and is trusted by TLS."""

from __future__ import annotations

import datetime
import ipaddress

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ed25519, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from proreus.net.tls.issuing import make_authority
from proreus.net.tls.key_pairs import KeyPair
from proreus.net.tls.signing import CannotSign, period, sign_request
from tests.signing import request_pem

NOW = 1_800_000_000.0
YEAR_S = 365 * 86400.0
LATEST = datetime.datetime.fromtimestamp(NOW + 10 * YEAR_S, datetime.UTC)
AUTHORITY = make_authority("test", now=NOW)


def signed(
    pem: bytes, *usages: str, lasts_s: float = YEAR_S, authority: KeyPair = AUTHORITY
) -> x509.Certificate:
    request = x509.load_pem_x509_csr(pem)
    made = sign_request(authority, request, usages, now=NOW, lasts_s=lasts_s)
    return x509.load_pem_x509_certificate(made)


def test_the_subject_and_names_are_those_asked_for_and_the_usages_those_allowed() -> None:
    names = [x509.DNSName("n1.example"), x509.IPAddress(ipaddress.ip_address("192.0.2.1"))]
    found = signed(
        request_pem("system:node:n1", ["system:nodes"], names), "digital signature", "server auth"
    )

    extensions = found.extensions
    usage = extensions.get_extension_for_class(x509.KeyUsage).value
    extended = extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    assert [a.value for a in found.subject.get_attributes_for_oid(NameOID.ORGANIZATION_NAME)] == [
        "system:nodes"
    ]
    assert list(extensions.get_extension_for_class(x509.SubjectAlternativeName).value) == names
    assert usage.digital_signature and not usage.key_encipherment and not usage.key_cert_sign
    assert list(extended) == [ExtendedKeyUsageOID.SERVER_AUTH]
    assert not extensions.get_extension_for_class(x509.BasicConstraints).value.ca
    found.verify_directly_issued_by(x509.load_pem_x509_certificate(AUTHORITY.certificate))


def test_a_request_that_asks_to_be_an_authority_becomes_none() -> None:
    from cryptography.hazmat.primitives import hashes

    from tests.signing import key

    builder = x509.CertificateSigningRequestBuilder().subject_name(x509.Name([]))
    asked = builder.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
    pem = asked.sign(key(), hashes.SHA256()).public_bytes(serialization.Encoding.PEM)

    found = signed(pem, "client auth")

    assert not found.extensions.get_extension_for_class(x509.BasicConstraints).value.ca
    with pytest.raises(x509.ExtensionNotFound):
        found.extensions.get_extension_for_class(x509.KeyUsage)


@pytest.mark.parametrize(
    ("lasts_s", "from_s", "until_s"),
    [
        (600, -300, 600),  # short ones are not cut by what they are backdated
        (8 * 3600 - 1, -300, 8 * 3600 - 1),
        (8 * 3600, -300, 8 * 3600 - 300),
        (YEAR_S, -300, YEAR_S - 300),
        (20 * YEAR_S, -300, 10 * YEAR_S),  # not longer than the authority
    ],
)
def test_certificates_are_good_from_five_minutes_ago(
    lasts_s: float, from_s: float, until_s: float
) -> None:
    start, end = period(NOW, lasts_s, LATEST)

    assert (start.timestamp() - NOW, end.timestamp() - NOW) == (from_s, until_s)


def test_an_authority_that_has_ended_signs_nothing() -> None:
    with pytest.raises(CannotSign, match="ended at"):
        period(LATEST.timestamp(), 600, LATEST)


@pytest.mark.parametrize("kind", ["rsa", "ed25519"])
def test_authorities_of_other_keys_sign_too(kind: str) -> None:
    key = (
        rsa.generate_private_key(65537, 2048)
        if kind == "rsa"
        else ed25519.Ed25519PrivateKey.generate()
    )
    found = signed(request_pem("a"), "client auth", authority=self_signed(key))

    assert found.issuer.rfc4514_string() == "CN=own"


def self_signed(key: rsa.RSAPrivateKey | ed25519.Ed25519PrivateKey) -> KeyPair:
    from cryptography.hazmat.primitives import hashes

    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "own")])
    start = datetime.datetime.fromtimestamp(NOW, datetime.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(start)
        .not_valid_after(start + datetime.timedelta(days=1))
        .sign(key, hashes.SHA256() if isinstance(key, rsa.RSAPrivateKey) else None)
    )
    private = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    return KeyPair(certificate.public_bytes(serialization.Encoding.PEM), private)


def test_what_is_no_pair_is_refused_without_quoting_it() -> None:
    other = make_authority("other", now=NOW)
    pem = request_pem("a")

    with pytest.raises(CannotSign, match="belongs to another certificate"):
        signed(pem, "client auth", authority=KeyPair(AUTHORITY.certificate, other.key))
    with pytest.raises(CannotSign, match="cannot be read") as refused:
        signed(pem, "client auth", authority=KeyPair(AUTHORITY.certificate, b"secret"))
    assert "secret" not in str(refused.value)
