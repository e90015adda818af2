"""Signs what others asked for with keys of their own: a certificate for a PKCS #10 request.

Only the public key, the subject and the alternative names are taken from the request; how the
certificate may be used and how long it is good is the signer's to say. Importing this loads
``cryptography``.
"""

from __future__ import annotations

import datetime
from collections.abc import Collection

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import load_pem_private_key
from cryptography.x509.oid import ExtendedKeyUsageOID

from proreus.net.tls.key_pairs import KeyPair
from proreus.net.tls.signing_requests import alternative_names

# Clocks of those who read the certificate may be a little behind.
BACKDATE_S = 300.0
# A certificate that lasts less than this is not cut short by it.
SHORT_S = 8 * 3600.0
_KEY_USAGES = {
    "signing": "digital_signature",
    "digital signature": "digital_signature",
    "content commitment": "content_commitment",
    "key encipherment": "key_encipherment",
    "key agreement": "key_agreement",
    "data encipherment": "data_encipherment",
    "cert sign": "key_cert_sign",
    "crl sign": "crl_sign",
    "encipher only": "encipher_only",
    "decipher only": "decipher_only",
}
_EXTENDED = {
    "any": ExtendedKeyUsageOID.ANY_EXTENDED_KEY_USAGE,
    "server auth": ExtendedKeyUsageOID.SERVER_AUTH,
    "client auth": ExtendedKeyUsageOID.CLIENT_AUTH,
    "code signing": ExtendedKeyUsageOID.CODE_SIGNING,
    "email protection": ExtendedKeyUsageOID.EMAIL_PROTECTION,
    "s/mime": ExtendedKeyUsageOID.EMAIL_PROTECTION,
    "ipsec end system": x509.ObjectIdentifier("1.3.6.1.5.5.7.3.5"),
    "ipsec tunnel": x509.ObjectIdentifier("1.3.6.1.5.5.7.3.6"),
    "ipsec user": x509.ObjectIdentifier("1.3.6.1.5.5.7.3.7"),
    "timestamping": ExtendedKeyUsageOID.TIME_STAMPING,
    "ocsp signing": ExtendedKeyUsageOID.OCSP_SIGNING,
    "microsoft sgc": x509.ObjectIdentifier("1.3.6.1.4.1.311.10.3.3"),
    "netscape sgc": x509.ObjectIdentifier("2.16.840.1.113730.4.1"),
}
_ALL_USAGES = frozenset(_KEY_USAGES.values())
_AuthorityKey = rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey | ed25519.Ed25519PrivateKey


class CannotSign(Exception):
    """The authority's certificate or key cannot be used; the message is one sentence."""


def sign_request(
    authority: KeyPair,
    request: x509.CertificateSigningRequest,
    usages: Collection[str],
    *,
    now: float,
    lasts_s: float,
) -> bytes:
    """A certificate, PEM. ``usages`` by Kubernetes' names. Raises CannotSign."""
    issuer, key = _authority(authority)
    start, end = period(now, lasts_s, issuer.not_valid_after_utc)
    builder = (
        x509.CertificateBuilder()
        .subject_name(request.subject)
        .issuer_name(issuer.subject)
        .public_key(request.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(start)
        .not_valid_after(end)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(key.public_key()), critical=False
        )
    )
    for extension, is_critical in _usage_extensions(usages):
        builder = builder.add_extension(extension, critical=is_critical)
    if names := alternative_names(request):
        has_subject = bool(list(request.subject))
        builder = builder.add_extension(
            x509.SubjectAlternativeName(names), critical=not has_subject
        )
    digest = None if isinstance(key, ed25519.Ed25519PrivateKey) else hashes.SHA256()
    return builder.sign(key, digest).public_bytes(serialization.Encoding.PEM)


def period(
    now: float, lasts_s: float, latest: datetime.datetime
) -> tuple[datetime.datetime, datetime.datetime]:
    """From a little before now; not longer than the authority's own. Raises CannotSign."""
    present = datetime.datetime.fromtimestamp(now, datetime.UTC)
    if present >= latest:
        raise CannotSign(f"the authority's certificate ended at {latest.isoformat()}")
    if lasts_s >= SHORT_S:
        lasts_s -= BACKDATE_S
    end = present + datetime.timedelta(seconds=lasts_s)
    return present - datetime.timedelta(seconds=BACKDATE_S), min(end, latest)


def _usage_extensions(usages: Collection[str]) -> list[tuple[x509.ExtensionType, bool]]:
    """With whether each is critical."""
    plain = {_KEY_USAGES[usage] for usage in usages if usage in _KEY_USAGES}
    if "key_agreement" not in plain:  # these say what the agreed key is for
        plain -= {"encipher_only", "decipher_only"}
    extended = {_EXTENDED[usage] for usage in usages if usage in _EXTENDED}
    found: list[tuple[x509.ExtensionType, bool]] = []
    if plain:
        found.append((x509.KeyUsage(**{name: name in plain for name in _ALL_USAGES}), True))
    if extended:
        ordered = sorted(extended, key=lambda one: one.dotted_string)
        found.append((x509.ExtendedKeyUsage(ordered), False))
    return found


def _authority(pair: KeyPair) -> tuple[x509.Certificate, _AuthorityKey]:
    try:
        certificate = x509.load_pem_x509_certificate(pair.certificate)
        key = load_pem_private_key(pair.key, None)
    except (ValueError, TypeError) as error:
        # The error may quote what it could not read, and that may be a key.
        raise CannotSign("the authority's certificate or key cannot be read") from error
    if not isinstance(key, _AuthorityKey):
        raise CannotSign("the authority's key is neither RSA, ECDSA nor Ed25519")
    if key.public_key() != certificate.public_key():
        raise CannotSign("the authority's key belongs to another certificate")
    return certificate, key
