"""How a server is set up: one frozen value, read only in ``app.py``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from proreus.server.registry.user import User


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerConfig:
    """The defaults are those of a test: in memory, on a free loopback port, plain HTTP.

    ``data_dir`` None keeps everything in memory; with one, objects live in it in one file, unless
    ``etcd`` names endpoints. Keys, the administrator's token and its kubeconfig are in it too.
    ``tls`` needs a ``data_dir``; without it only loopback addresses are allowed.
    """

    data_dir: Path | None = None
    bind_address: str = "127.0.0.1"
    port: int = 0
    tls: bool = False
    etcd: tuple[str, ...] = ()
    kubeconfig: Path | None = None  # default: data_dir/kubeconfig
    tokens: Mapping[str, User] = field(default_factory=dict)
    tokens_file: Path | None = None
    advertise: tuple[str, ...] = ()  # further names and addresses in the certificate
    shutdown_grace_s: float = 2.0
    event_ttl_s: float = 3600.0  # how long events are kept after their last change

    def __post_init__(self) -> None:
        if self.tls and self.data_dir is None:
            raise ValueError("TLS needs a data folder for its keys")
        if not self.tls and not is_loopback(self.bind_address):
            raise ValueError("plain HTTP is served on loopback addresses only")


def is_loopback(host: str) -> bool:
    import ipaddress

    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
