"""The certificates of a server, kept in a folder: found, or made by an authority of our own.

Files are written with mode 0600 and never overwritten while they can still be used, so a second
start on the same folder keeps every client's trust.
"""

from __future__ import annotations

import ipaddress
import ssl
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from proreus.lazy_dataclass import dataclass
from proreus.net.tls.key_pairs import KeyPair, PairFiles, UnusableFiles, write_pairs

KUBELET_CLIENT = "kube-apiserver-kubelet-client"  # Kubernetes' own name for it
FRONT_PROXY_CLIENT = "front-proxy-client"  # kubeadm's name
_RENEW_BEFORE_DAYS = 30


@dataclass(frozen=True, slots=True)
class TlsFiles:
    """Everything a server needs in one folder."""

    authority: PairFiles
    server: PairFiles
    admin: PairFiles
    kubelet_client: PairFiles  # the server's, towards kubelets
    # The server's, towards servers of further APIs, which believe its holder who asks: of an
    # authority of its own, so that no other certificate can be taken for it.
    front_proxy_authority: PairFiles
    front_proxy_client: PairFiles


def ensure_files(
    folder: Path, hosts: Sequence[str], *, admin: str, groups: Sequence[str], now: float
) -> TlsFiles:
    """Find or make the authority and what it signs: the server's certificates, towards clients and
    towards kubelets, and its administrator's. Raises UnusableFiles, NotPrivate."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    files = TlsFiles(
        authority=authority_files(folder),
        server=_pair_files(folder, "server"),
        admin=_pair_files(folder, "admin"),
        kubelet_client=_pair_files(folder, "kubelet-client"),
        front_proxy_authority=_pair_files(folder, "front-proxy-ca"),
        front_proxy_client=_pair_files(folder, FRONT_PROXY_CLIENT),
    )
    _ensure_front_proxy(files, now)
    is_known = files.authority.certificate.exists() and files.authority.key.exists()
    if is_known:
        authority = files.authority.read()
        if not _is_pair(files.authority):
            raise UnusableFiles(files.authority)
    has_server = is_known and _is_usable(files.server, now, hosts)
    has_admin = is_known and _is_usable(files.admin, now, ())
    # Without groups: a user that makes the server call an address of their own sees it used there.
    client = files.kubelet_client
    has_client = is_known and _is_usable(client, now, ()) and not _groups(client)
    if has_server and has_admin and has_client:
        return files
    from proreus.net.tls import issuing  # loads ``cryptography``, which takes a while

    made: dict[PairFiles, KeyPair] = {}
    if not is_known:
        for one in (files.server, files.admin, client):
            one.certificate.unlink(missing_ok=True)
        authority = made[files.authority] = issuing.make_authority("proreus", now=now)
    if not has_server:
        made[files.server] = issuing.issue_server(authority, hosts, now=now)
    if not has_admin:
        made[files.admin] = issuing.issue_client(authority, admin, groups, now=now)
    if not has_client:
        made[client] = issuing.issue_client(authority, KUBELET_CLIENT, (), now=now)
    write_pairs(made)
    return files


def _ensure_front_proxy(files: TlsFiles, now: float) -> None:
    authority, client = files.front_proxy_authority, files.front_proxy_client
    has_authority = _is_usable(authority, now, ())
    if has_authority and _is_usable(client, now, ()):
        return
    from proreus.net.tls import issuing

    made: dict[PairFiles, KeyPair] = {}
    if has_authority:
        issuer = authority.read()
    else:
        issuer = made[authority] = issuing.make_authority("front-proxy", now=now)
    made[client] = issuing.issue_client(issuer, FRONT_PROXY_CLIENT, (), now=now)
    write_pairs(made)


def _pair_files(folder: Path, name: str) -> PairFiles:
    return PairFiles(folder / f"{name}.crt", folder / f"{name}.key")


def authority_files(folder: Path) -> PairFiles:
    return _pair_files(folder, "ca")


def ensure_self_signed(folder: Path, name: str, hosts: Sequence[str], *, now: float) -> PairFiles:
    """Find or make a server certificate that no authority known to clients has signed."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    files = _pair_files(folder, name)
    if not _is_usable(files, now, hosts):
        from proreus.net.tls import issuing

        files.write(issuing.issue_server(issuing.make_authority(name, now=now), hosts, now=now))
    return files


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


def _is_usable(files: PairFiles, now: float, hosts: Iterable[str]) -> bool:
    """There, not about to expire, and good for every host we are reached at."""
    if not (files.certificate.is_file() and files.key.is_file()):
        return False  # opening a FIFO in its place would wait for ever
    try:
        found = _fields(files.certificate)
        expires = ssl.cert_time_to_seconds(str(found["notAfter"]))
    except (ssl.SSLError, ValueError, KeyError, OSError):
        return False
    if not _is_pair(files):
        return False
    known = {str(value).lower() for _, value in found.get("subjectAltName", ())}
    wanted = {host.lower() for host in hosts}
    reachable = all(host in known or _long_ip(host) in known for host in wanted)
    return reachable and expires - now > _RENEW_BEFORE_DAYS * 86400


def _is_pair(files: PairFiles) -> bool:
    """Whether they are a certificate and the key that belongs to it."""
    try:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        # Without a password a terminal would be asked for one.
        context.load_cert_chain(files.certificate, files.key, password="")
    except (ssl.SSLError, ValueError):
        return False
    return True


def _groups(files: PairFiles) -> tuple[str, ...]:
    return subject_of(_fields(files.certificate))[1]


def _fields(certificate: Path) -> Mapping[str, Any]:
    """Raises SSLError, OSError."""
    # The only reader of a certificate's fields in the standard library.
    found: Mapping[str, Any] = ssl._ssl._test_decode_cert(  # type: ignore[attr-defined]
        str(certificate)
    )
    return found


def _long_ip(host: str) -> str:
    """An IPv6 address as OpenSSL prints it in a certificate."""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return host
    if address.version == 4:
        return host
    return ":".join(f"{int(part, 16):x}" for part in address.exploded.split(":"))
