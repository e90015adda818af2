"""The administrator's credentials, made at a server's first start: token, certificate, kubeconfig.

All of it is in the data folder, readable by its owner only, and stays the same over restarts.
"""

from __future__ import annotations

import base64
import secrets
from dataclasses import field
from pathlib import Path
from typing import Any

from proreus.api.wire import plain_yaml
from proreus.lazy_dataclass import dataclass
from proreus.net.private_files import read_private, write_private
from proreus.net.tls.certificates import TlsFiles
from proreus.net.tls.key_pairs import KeyPair
from proreus.server.registry.user import AUTHENTICATED, MASTERS, User

ADMIN = "kubernetes-admin"
ADMIN_USER = User(ADMIN, (MASTERS, AUTHENTICATED))
_TOKEN_FILE = "admin.token"


@dataclass(frozen=True, slots=True)
class Login:
    """What a user shows to a server: a token, a certificate, or both."""

    name: str
    token: str = field(default="", repr=False)
    certificate: KeyPair | None = None


@dataclass(frozen=True, slots=True)
class AdminCredentials:
    token: str = field(repr=False)
    tls: TlsFiles | None = None

    @property
    def authority(self) -> bytes | None:
        """The certificate that the server's is signed by; None: plain HTTP."""
        return self.tls.authority.certificate.read_bytes() if self.tls is not None else None

    def login(self) -> Login:
        """Raises NotPrivate."""
        return Login(ADMIN, self.token, self.tls.admin.read() if self.tls is not None else None)


def tls_folder(data_dir: Path) -> Path:
    """Where the server's certificates are, and the cluster's ``CertificateAuthority``."""
    return data_dir / "tls"


def kubeconfig_file(data_dir: Path) -> Path:
    """Where the administrator's is, unless another place was asked for."""
    return data_dir / "kubeconfig"


def token_file(data_dir: Path | None) -> Path | None:
    return None if data_dir is None else data_dir / _TOKEN_FILE


def admin_token(data_dir: Path | None) -> str:
    """Found or made; without a folder it lives as long as the server. Raises NotPrivate."""
    path = token_file(data_dir)
    if path is None:
        return secrets.token_hex(32)
    if path.exists() and (found := read_private(path).decode(errors="replace").strip()):
        return found
    token = secrets.token_hex(32)
    write_private(path, token.encode() + b"\n")
    return token


def write_kubeconfig(path: Path, url: str, authority: bytes | None, user: Login) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    write_private(path, plain_yaml.encode(kubeconfig(url, authority, user)))


def kubeconfig(
    url: str, authority: bytes | None, user: Login, *, namespace: str = ""
) -> dict[str, Any]:
    """``authority``: the certificate (PEM) that the server's is signed by; None: plain HTTP."""
    cluster: dict[str, Any] = {"server": url}
    if authority is not None:
        cluster["certificate-authority-data"] = _base64(authority)
    credentials: dict[str, Any] = {}
    if user.token:
        credentials["token"] = user.token
    if user.certificate is not None:
        credentials["client-certificate-data"] = _base64(user.certificate.certificate)
        credentials["client-key-data"] = _base64(user.certificate.key)
    context = {"cluster": "proreus", "user": user.name}
    if namespace:
        context["namespace"] = namespace
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "proreus", "cluster": cluster}],
        "users": [{"name": user.name, "user": credentials}],
        "contexts": [{"name": "proreus", "context": context}],
        "current-context": "proreus",
        "preferences": {},
    }


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()
