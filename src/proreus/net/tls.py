"""Keys and certificates: an own authority made at first start, and the TLS contexts made of them.

Files are written with mode 0600 and never overwritten while they can still be used, so a second
start on the same folder keeps every client's trust. ``cryptography`` is imported on first use: a
server that finds its files never loads it.
"""

from __future__ import annotations

import datetime
import ipaddress
import os
import ssl
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric import ec

KUBELET_CLIENT = "kube-apiserver-kubelet-client"  # Kubernetes' own name for it
_AUTHORITY_DAYS = 3650
_LEAF_DAYS = 365 * 3
_RENEW_BEFORE_DAYS = 30
_CLOCK_SKEW = datetime.timedelta(minutes=5)


@dataclass(frozen=True, slots=True)
class KeyPair:
    """A certificate and its private key, both PEM."""

    certificate: bytes
    key: bytes


@dataclass(frozen=True, slots=True)
class PairFiles:
    certificate: Path
    key: Path

    def read(self) -> KeyPair:
        return KeyPair(self.certificate.read_bytes(), self.key.read_bytes())


@dataclass(frozen=True, slots=True)
class TlsFiles:
    """Everything a server needs in one folder."""

    authority: PairFiles
    server: PairFiles
    admin: PairFiles
    kubelet_client: PairFiles  # what the server shows to kubelets


def ensure_files(
    folder: Path, hosts: Sequence[str], *, admin: str, groups: Sequence[str], now: float
) -> TlsFiles:
    """Find or make the authority and what it signs: who the server is, to clients and to kubelets,
    and who its administrator is."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    files = TlsFiles(
        authority=PairFiles(folder / "ca.crt", folder / "ca.key"),
        server=PairFiles(folder / "server.crt", folder / "server.key"),
        admin=PairFiles(folder / "admin.crt", folder / "admin.key"),
        kubelet_client=PairFiles(folder / "kubelet-client.crt", folder / "kubelet-client.key"),
    )
    if not files.authority.certificate.exists() or not files.authority.key.exists():
        _write_pair(files.authority, make_authority("proreus", now=now))
        files.server.certificate.unlink(missing_ok=True)
        files.admin.certificate.unlink(missing_ok=True)
        files.kubelet_client.certificate.unlink(missing_ok=True)
    authority = files.authority.read()
    if not _is_usable(files.server, now, hosts):
        _write_pair(files.server, issue_server(authority, hosts, now=now))
    if not _is_usable(files.admin, now, ()):
        _write_pair(files.admin, issue_client(authority, admin, groups, now=now))
    if not _is_usable(files.kubelet_client, now, ()):
        pair = issue_client(authority, KUBELET_CLIENT, ("system:masters",), now=now)
        _write_pair(files.kubelet_client, pair)
    return files


def ensure_self_signed(folder: Path, name: str, hosts: Sequence[str], *, now: float) -> PairFiles:
    """Find or make a server certificate that only says who answers: nobody vouches for it."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    files = PairFiles(folder / f"{name}.crt", folder / f"{name}.key")
    if not _is_usable(files, now, hosts):
        _write_pair(files, issue_server(make_authority(name, now=now), hosts, now=now))
    return files


def make_authority(name: str, *, now: float) -> KeyPair:
    from cryptography import x509

    key = _new_key()
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, f"{name}-ca")])
    builder = (
        _builder(subject, subject, key, now, _AUTHORITY_DAYS)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .add_extension(_key_usage(signs_certificates=True), critical=True)
    )
    return _pair(builder, key, key)


def issue_server(authority: KeyPair, hosts: Iterable[str], *, now: float) -> KeyPair:
    from cryptography import x509
    from cryptography.x509.oid import ExtendedKeyUsageOID

    names = [_general_name(host) for host in dict.fromkeys(hosts)]
    return _issue(
        authority,
        x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "proreus-server")]),
        now=now,
        usage=ExtendedKeyUsageOID.SERVER_AUTH,
        names=names,
    )


def issue_client(authority: KeyPair, user: str, groups: Iterable[str], *, now: float) -> KeyPair:
    """A certificate that says who its holder is: CN the user, each O a group."""
    from cryptography import x509
    from cryptography.x509.oid import ExtendedKeyUsageOID

    attributes = [x509.NameAttribute(x509.NameOID.ORGANIZATION_NAME, group) for group in groups]
    attributes.append(x509.NameAttribute(x509.NameOID.COMMON_NAME, user))
    return _issue(authority, x509.Name(attributes), now=now, usage=ExtendedKeyUsageOID.CLIENT_AUTH)


def server_context(files: TlsFiles) -> ssl.SSLContext:
    return serving_context(files.server, files.authority.certificate.read_text())


def serving_context(pair: PairFiles, client_authority: str) -> ssl.SSLContext:
    """Ask clients for a certificate of the authority (PEM), but do not insist."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.load_cert_chain(pair.certificate, pair.key)
    context.load_verify_locations(cadata=client_authority)
    context.verify_mode = ssl.CERT_OPTIONAL
    context.set_alpn_protocols(["http/1.1"])
    return context


def trusting_context(pair: PairFiles | None) -> ssl.SSLContext:
    """Show a certificate of our own and take any in return, as of a server that nobody signed for:
    what is sent cannot be read or changed on the way, but by whoever answers at the address."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    if pair is not None:
        context.load_cert_chain(pair.certificate, pair.key)
    return context


def subject_of(certificate: Mapping[str, Any]) -> tuple[str, tuple[str, ...]]:
    """User and groups of a verified peer certificate."""
    user, groups = "", []
    for relative_name in certificate.get("subject", ()):
        for key, value in relative_name:
            if key == "commonName":
                user = value
            elif key == "organizationName":
                groups.append(value)
    return user, tuple(groups)


def write_private(path: Path, content: bytes) -> None:
    """Replace a file that only its owner may read, never leaving half of it."""
    partial = path.with_name(f".{path.name}.new")
    descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())  # after a power cut an empty key would be worse than none
    partial.replace(path)


def _write_pair(files: PairFiles, pair: KeyPair) -> None:
    write_private(files.key, pair.key)
    write_private(files.certificate, pair.certificate)


def _is_usable(files: PairFiles, now: float, hosts: Iterable[str]) -> bool:
    """There, not about to expire, and good for every host we are reached at."""
    if not files.certificate.exists() or not files.key.exists():
        return False
    try:
        # The only reader of a certificate's fields in the standard library.
        found = ssl._ssl._test_decode_cert(str(files.certificate))  # type: ignore[attr-defined]
        expires = ssl.cert_time_to_seconds(str(found["notAfter"]))
    except (ssl.SSLError, ValueError, KeyError, OSError):
        return False
    known = {str(value).lower() for _, value in found.get("subjectAltName", ())}
    wanted = {host.lower() for host in hosts}
    reachable = all(host in known or _long_ip(host) in known for host in wanted)
    return reachable and expires - now > _RENEW_BEFORE_DAYS * 86400


def _long_ip(host: str) -> str:
    """An IPv6 address as OpenSSL prints it in a certificate."""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return host
    if address.version == 4:
        return host
    return ":".join(f"{int(part, 16):x}" for part in address.exploded.split(":"))


def _issue(
    authority: KeyPair,
    subject: x509.Name,
    *,
    now: float,
    usage: x509.ObjectIdentifier,
    names: Sequence[x509.GeneralName] = (),
) -> KeyPair:
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    issuer = x509.load_pem_x509_certificate(authority.certificate)
    issuer_key = load_pem_private_key(authority.key, None)
    assert isinstance(issuer_key, ec.EllipticCurvePrivateKey), "our authority has an EC key"
    key = _new_key()
    builder = (
        _builder(subject, issuer.subject, key, now, _LEAF_DAYS)
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
    now: float,
    days: int,
) -> x509.CertificateBuilder:
    from cryptography import x509

    start = datetime.datetime.fromtimestamp(now, datetime.UTC) - _CLOCK_SKEW
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(start)
        .not_valid_after(start + datetime.timedelta(days=days))
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    )


def _key_usage(*, signs_certificates: bool) -> x509.KeyUsage:
    from cryptography import x509

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
    from cryptography.hazmat.primitives.asymmetric import ec

    return ec.generate_private_key(ec.SECP256R1())


def _pair(
    builder: x509.CertificateBuilder,
    key: ec.EllipticCurvePrivateKey,
    signer: ec.EllipticCurvePrivateKey,
) -> KeyPair:
    from cryptography.hazmat.primitives import hashes, serialization

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
    from cryptography import x509

    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)
