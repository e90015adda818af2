"""The configuration of a server: one frozen value, read by ``app`` and ``opening``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from pathlib import Path

from proreus.api.values.names import parse_ip
from proreus.lazy_dataclass import dataclass
from proreus.net.addresses import is_loopback
from proreus.net.tls.key_pairs import PairFiles
from proreus.server.admission.options import AdmissionOptions
from proreus.server.audit.options import AuditOptions
from proreus.server.authn.options import AuthenticationOptions
from proreus.server.authz.configuration import MODES, NODE, RBAC, WEBHOOK, WebhookFlags
from proreus.server.registry.user import User
from proreus.server.storage.formatted import StorageFormat
from proreus.server.worker import Worker

_WITHOUT_ACCOUNTS = AdmissionOptions(disable=("ServiceAccount",))


class ConfigInvalid(ValueError):
    """The configuration is invalid; the message is one sentence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerConfig:
    """The defaults are those of a test: in memory, on a free loopback port, plain HTTP, and pods
    without service accounts, which a controller would have to make.

    ``data_dir`` None keeps everything in memory; with one, objects live in it in one file, unless
    ``etcd`` names endpoints. Keys, the administrator's token and its kubeconfig are in it too.
    ``tls`` needs a ``data_dir``; without it only loopback addresses are allowed, and no kubeconfig:
    clients send no credentials over plain HTTP. Raises ConfigInvalid.
    """

    data_dir: Path | None = None
    bind_address: str = "127.0.0.1"
    port: int = 0
    tls: bool = False
    serving: PairFiles | None = None  # a certificate to show to clients; None: one of its own
    etcd: tuple[str, ...] = ()
    etcd_ca_file: Path | None = None  # the authority of etcd's certificates; None: the system's
    etcd_client: PairFiles | None = None  # our certificate towards etcd
    storage_format: StorageFormat = StorageFormat.JSON  # what objects are written in
    kubeconfig: Path | None = None  # where to write one for the administrator
    tokens: Mapping[str, User] = field(default_factory=dict)
    advertise_address: str = ""  # where others reach it; "": the bound one, unless it is loopback
    advertise: tuple[str, ...] = ()  # further names and addresses in the certificate
    shutdown_grace_s: float = 2.0
    http2_streams: int = 100  # requests at a time on one connection of HTTP/2; 0: HTTP/1.1 alone
    goaway_chance: float = 0.0  # of an answer over HTTP/2: its client is sent to a new connection
    authentication: AuthenticationOptions = field(default_factory=AuthenticationOptions)
    audit: AuditOptions = field(default_factory=AuditOptions)
    encryption_config: Path | None = None  # an EncryptionConfiguration: what is encrypted at rest
    compaction_s: float = 300.0  # for so long and up to twice as long the past is kept; 0: for good
    event_ttl_s: float = 3600.0  # how long events are kept after their last change
    admission: AdmissionOptions = _WITHOUT_ACCOUNTS
    authorization_mode: tuple[str, ...] = (NODE, RBAC)  # authorizers, asked in this order
    authorization_webhook: WebhookFlags | None = None  # of the mode Webhook
    authorization_config: Path | None = None  # says which authorizers there are instead
    proxy_client: PairFiles | None = None  # towards aggregated servers; None: one of its own
    worker: Worker | None = None  # None: a server of one process
    has_threads: bool = True  # False: all work is done on the loop, for tests on virtual time

    def __post_init__(self) -> None:
        self._check_authorization()
        if fault := self.admission.fault():
            raise ConfigInvalid(fault)
        if self.advertise_address and (why := _unroutable(self.advertise_address)):
            raise ConfigInvalid(f"the advertised address {self.advertise_address!r} {why}")
        if self.compaction_s < 0:
            raise ConfigInvalid("the compaction interval must not be negative")
        if self.http2_streams < 0:
            raise ConfigInvalid("the streams of a connection must not be fewer than none")
        if not 0 <= self.goaway_chance <= 1:
            raise ConfigInvalid("the chance of a GOAWAY must be between 0 and 1")
        if self.tls and self.data_dir is None:
            raise ConfigInvalid("TLS needs a data folder for its keys")
        if self.serving is not None and not self.tls:
            raise ConfigInvalid("a certificate to serve with needs TLS")
        if not self.tls and not is_loopback(self.bind_address):
            raise ConfigInvalid("plain HTTP is served on loopback addresses only")
        if not self.tls and self.kubeconfig is not None:
            raise ConfigInvalid(
                "a kubeconfig needs TLS: kubectl and other clients send no credentials over plain "
                "HTTP, so that no client could use it"
            )

    def _check_authorization(self) -> None:
        if "ABAC" in self.authorization_mode:
            raise ConfigInvalid(
                "the authorization mode ABAC is deprecated and not offered: use RBAC or Webhook"
            )
        unknown = [mode for mode in self.authorization_mode if mode not in MODES]
        if unknown or not self.authorization_mode:
            raise ConfigInvalid(
                f"the authorization mode must be a list of {' and '.join(MODES)}, "
                f"not {','.join(self.authorization_mode)!r}"
            )
        for mode in self.authorization_mode:
            if self.authorization_mode.count(mode) > 1:
                raise ConfigInvalid(
                    f'authorization-mode "{mode}" has mode specified more than once'
                )
        has_webhook = WEBHOOK in self.authorization_mode
        if has_webhook and self.authorization_webhook is None:
            raise ConfigInvalid("authorization-mode Webhook's authorization config file not passed")
        if self.authorization_webhook is not None and not has_webhook:
            raise ConfigInvalid(
                "cannot specify --authorization-webhook-config-file without mode Webhook"
            )


def _unroutable(text: str) -> str:
    """Why others cannot reach a server at an address; "" if they can."""
    address = parse_ip(text)
    if address is None:
        return "is no IP address"
    if address.is_loopback or address.is_unspecified or address.is_multicast:
        return "is none that others can reach"
    return ""
