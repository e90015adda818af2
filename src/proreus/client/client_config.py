"""What a client must know about its server: where it is, how to trust it, who we are.

Built by ``config`` from kubeconfig files or the pod's environment, or by hand; read by
``credentials`` and ``rest``. Nothing here reads a file: paths stay paths, so that what they hold
can change while the client runs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from proreus.net.client.transport import TransportFactory


class ConfigError(Exception):
    """The configuration cannot be used; the message says which entry, where, and why."""


@dataclass(frozen=True, slots=True)
class TlsSettings:
    """Trust in the server, and our certificate for it. Data wins over the file of the same name."""

    ca_file: Path | None = None
    ca_data: bytes | None = None
    insecure: bool = False
    server_name: str | None = None
    cert_file: Path | None = None
    cert_data: bytes | None = None
    key_file: Path | None = None
    key_data: bytes | None = field(default=None, repr=False)

    def read_ca(self) -> bytes | None:
        """What is trusted, as PEM; None: what the machine trusts. Raises OSError."""
        if self.ca_data or self.ca_file is None:
            return self.ca_data
        return self.ca_file.read_bytes()


@dataclass(frozen=True, slots=True)
class ExecSettings:
    """A program that prints credentials (client.md §2.4)."""

    command: str
    api_version: str
    args: tuple[str, ...] = ()
    env: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    interactive_mode: str = "IfAvailable"  # Never, IfAvailable, Always
    install_hint: str = ""
    provide_cluster: bool = False
    cluster_extension: str = ""  # JSON of the cluster's extension for plugins


@dataclass(frozen=True, slots=True)
class AuthSettings:
    """Who we are. ``exec`` is used only if nothing else is set.

    Over plain HTTP nothing of it is sent, unless ``over_loopback_http`` says so and the server is
    on this very machine.
    """

    token: str = field(default="", repr=False)
    token_file: Path | None = None
    username: str = ""
    password: str = field(default="", repr=False)
    exec: ExecSettings | None = None
    over_loopback_http: bool = False


@dataclass(frozen=True, slots=True)
class Impersonation:
    """Act as another user, if the server lets us."""

    user: str
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RateLimit:
    """Requests per second on average and at once. Watches do not count when they open."""

    per_second: float = 50.0
    burst: int = 100


@dataclass(frozen=True, slots=True)
class ClientConfig:
    """Everything a client needs. ``host`` is the server's URL; a path in it is kept as a prefix.

    ``timeout_s`` bounds each request with its answer, never a watch. ``rate_limit`` None: none.
    ``requests_at_once``: further ones wait a moment for a connection before another is opened.
    ``transport``: what requests are sent by instead of sockets, to a server in the same process.
    """

    host: str
    namespace: str = "default"
    tls: TlsSettings = field(default_factory=TlsSettings)
    auth: AuthSettings = field(default_factory=AuthSettings)
    impersonate: Impersonation | None = None
    proxy_url: str | None = None
    disable_compression: bool = False
    user_agent: str = ""
    field_manager: str = ""  # "": the program's name
    timeout_s: float | None = 60.0
    rate_limit: RateLimit | None = field(default_factory=RateLimit)
    requests_at_once: int | None = None
    cache_dir: Path | None = None  # of discovery; None: where kubectl keeps it
    disk_cache: bool = True  # of discovery; False: another server may have had this address
    transport: TransportFactory | None = field(default=None, repr=False, compare=False)
