"""Makes certificates: an authority, and certificates of servers and clients that it signs.

Importing this loads ``cryptography``, so a server that finds its files does not.
"""

from __future__ import annotations

import datetime
import ipaddress
from collections.abc import Iterable, Sequence

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import load_pem_private_key
from cryptography.x509.oid import ExtendedKeyUsageOID

from proreus.lazy_dataclass import dataclass
from proreus.net.tls.key_pairs import LASTING_S, KeyPair

_AUTHORITY_S = 3650 * 86400.0

_CLOCK_SKEW = datetime.timedelta(minutes=5)


@dataclass(frozen=True, slots=True)
class _Period:
    """When a certificate is good: from ``now``, for clocks that are a little behind, too."""

    now: float
    lasts_s: float

    @property
    def start(self) -> datetime.datetime:
        return datetime.datetime.fromtimestamp(self.now, datetime.UTC) - _CLOCK_SKEW

    @property
    def end(self) -> datetime.datetime:
        return datetime.datetime.fromtimestamp(self.now + self.lasts_s, datetime.UTC)


def make_authority(name: str, *, now: float) -> KeyPair:
    key = _new_key()
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, f"{name}-ca")])
    builder = (
        _builder(subject, subject, key, _Period(now, _AUTHORITY_S))
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .add_extension(_key_usage(signs_certificates=True), critical=True)
    )
    return _pair(builder, key, key)


def issue_server(authority: KeyPair, hosts: Iterable[str], *, now: float) -> KeyPair:
    names = [_general_name(host) for host in dict.fromkeys(hosts)]
    return _issue(
        authority,
        x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "proreus-server")]),
        _Period(now, LASTING_S),
        usage=ExtendedKeyUsageOID.SERVER_AUTH,
        names=names,
    )


def issue_client(
    authority: KeyPair,
    user: str,
    groups: Iterable[str],
    *,
    now: float,
    lasts_s: float = LASTING_S,
) -> KeyPair:
    """A certificate that says who its holder is: CN the user, each O a group. It ends before its
    authority does. Raises ValueError for a name that a certificate cannot hold."""
    attributes = [x509.NameAttribute(x509.NameOID.ORGANIZATION_NAME, group) for group in groups]
    attributes.append(x509.NameAttribute(x509.NameOID.COMMON_NAME, user))
    period = _Period(now, lasts_s)
    return _issue(authority, x509.Name(attributes), period, usage=ExtendedKeyUsageOID.CLIENT_AUTH)


def _issue(
    authority: KeyPair,
    subject: x509.Name,
    period: _Period,
    *,
    usage: x509.ObjectIdentifier,
    names: Sequence[x509.GeneralName] = (),
) -> KeyPair:
    issuer = x509.load_pem_x509_certificate(authority.certificate)
    issuer_key = load_pem_private_key(authority.key, None)
    assert isinstance(issuer_key, ec.EllipticCurvePrivateKey), "our authority has an EC key"
    key = _new_key()
    builder = (
        _builder(subject, issuer.subject, key, period, latest=issuer.not_valid_after_utc)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_key_usage(signs_certificates=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([usage]), critical=False)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer_key.public_key()),
            critical=False,
        )
    )
    if names:
        builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
    return _pair(builder, key, issuer_key)


def _builder(
    subject: x509.Name,
    issuer: x509.Name,
    key: ec.EllipticCurvePrivateKey,
    period: _Period,
    *,
    latest: datetime.datetime | None = None,
) -> x509.CertificateBuilder:
    end = period.end if latest is None else min(period.end, latest)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(period.start)
        .not_valid_after(end)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    )


def _key_usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        content_commitment=False,
        key_encipherment=not signs_certificates,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        encipher_only=False,
        decipher_only=False,
    )


def _new_key() -> ec.EllipticCurvePrivateKey:
    return ec.generate_private_key(ec.SECP256R1())


def _pair(
    builder: x509.CertificateBuilder,
    key: ec.EllipticCurvePrivateKey,
    signer: ec.EllipticCurvePrivateKey,
) -> KeyPair:
    certificate = builder.sign(signer, hashes.SHA256())
    return KeyPair(
        certificate.public_bytes(serialization.Encoding.PEM),
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        ),
    )


def _general_name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)
