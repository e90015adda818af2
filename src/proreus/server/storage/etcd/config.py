"""Endpoints, certificates and credentials of an etcd cluster."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urlsplit

from proreus.lazy_dataclass import dataclass
from proreus.server.storage import keyspace


@dataclass(frozen=True, slots=True)
class EtcdConfig:
    """``endpoints`` are URLs, tried in turn. All are ``https`` or none is."""

    endpoints: Sequence[str]
    ca_file: Path | None = None  # None: the system's authorities
    certificate_file: Path | None = None
    key_file: Path | None = None
    username: str = ""
    password: str = ""
    root: str = keyspace.ROOT
    # One attempt at one endpoint; a read is tried at others until request_timeout_s is over.
    attempt_timeout_s: float = 2.0
    request_timeout_s: float = 10.0
    # None: decided by the version of etcd, see version.py.
    trusts_progress: bool | None = None

    def __post_init__(self) -> None:
        if not self.endpoints:
            raise ValueError("etcd needs at least one endpoint")
        schemes = {urlsplit(endpoint).scheme for endpoint in self.endpoints}
        if not schemes <= {"http", "https"} or len(schemes) > 1:
            raise ValueError(
                f"etcd endpoints must be all http:// or all https:// URLs: {self.endpoints}"
            )
        for endpoint in self.endpoints:
            if not urlsplit(endpoint).hostname:
                raise ValueError(f"etcd endpoint without a host: {endpoint}")
        if (self.certificate_file is None) != (self.key_file is None):
            raise ValueError("an etcd client certificate and its key come together")
        keyspace.check_prefix(self.root)

    @property
    def is_tls(self) -> bool:
        return self.endpoints[0].startswith("https:")

    def __repr__(self) -> str:
        who = f" as {self.username}" if self.username else ""
        return f"<EtcdConfig {','.join(self.endpoints)}{who}>"


def place(endpoint: str) -> tuple[str, int]:
    """``http://[::1]:2379`` → ``::1`` and 2379; the port is etcd's own if none is given."""
    parts = urlsplit(endpoint)
    return parts.hostname or "", parts.port or 2379
