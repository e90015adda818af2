"""What the administrator of a server gets at its first start: a token, a certificate, a kubeconfig.

All of it is in the data folder, readable by its owner only, and stays the same over restarts.
"""

from __future__ import annotations

import base64
import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from proreus.net.tls import TlsFiles, write_private
from proreus.server.registry.user import AUTHENTICATED, MASTERS, User

ADMIN = "kubernetes-admin"
ADMIN_USER = User(ADMIN, (MASTERS, AUTHENTICATED))
_TOKEN_FILE = "admin.token"


@dataclass(frozen=True, slots=True)
class AdminCredentials:
    token: str
    tls: TlsFiles | None = None


def admin_token(data_dir: Path | None) -> str:
    """Found or made; without a folder it lives as long as the server."""
    if data_dir is None:
        return secrets.token_hex(32)
    path = data_dir / _TOKEN_FILE
    if path.exists() and (found := path.read_text().strip()):
        return found
    token = secrets.token_hex(32)
    write_private(path, token.encode() + b"\n")
    return token


def write_kubeconfig(path: Path, url: str, credentials: AdminCredentials) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    from proreus.api.wire import yaml

    write_private(path, yaml.encode(kubeconfig(url, credentials)))


def kubeconfig(url: str, credentials: AdminCredentials) -> dict[str, Any]:
    cluster: dict[str, Any] = {"server": url}
    user: dict[str, Any] = {"token": credentials.token}
    if credentials.tls is not None:
        authority = credentials.tls.authority.certificate.read_bytes()
        admin = credentials.tls.admin.read()
        cluster["certificate-authority-data"] = _base64(authority)
        user["client-certificate-data"] = _base64(admin.certificate)
        user["client-key-data"] = _base64(admin.key)
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "proreus", "cluster": cluster}],
        "users": [{"name": ADMIN, "user": user}],
        "contexts": [{"name": "proreus", "context": {"cluster": "proreus", "user": ADMIN}}],
        "current-context": "proreus",
        "preferences": {},
    }


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()
