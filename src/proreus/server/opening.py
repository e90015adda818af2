"""Opens and makes what the configuration names: storage, audit, credentials, who decides."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from pathlib import Path

from proreus.aio.clock import Clock
from proreus.net.tls.certificates import ensure_files
from proreus.server.admission.building import AdmissionInputs, BuiltAdmission, build_admission
from proreus.server.audit.auditor import AuditInvalid, Auditor, open_auditor
from proreus.server.authn.building import (
    AuthenticationInputs,
    BuiltAuthentication,
    build_authentication,
)
from proreus.server.authn.options import AuthenticationInvalid
from proreus.server.authn.service_account_keys import ServiceAccountKeys
from proreus.server.authz.configuration import AuthorizationOptions
from proreus.server.authz.modes import AccessControl, open_access_control
from proreus.server.config import ConfigInvalid, ServerConfig
from proreus.server.config_files.fields import ConfigFileInvalid
from proreus.server.credentials import ADMIN, ADMIN_USER, AdminCredentials, admin_token, tls_folder
from proreus.server.offload import Offload, Runner
from proreus.server.prometheus import CollectorRegistry
from proreus.server.registry.collections import Collections
from proreus.server.registry.user import MASTERS
from proreus.server.resource import Resource
from proreus.server.storage.formatted import FormattedStorage
from proreus.server.storage.interface import Storage
from proreus.server.storage.measured import MeasuredStorage, StorageRequests

_NAMES = ("localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc",
          "kubernetes.default.svc.cluster.local", "127.0.0.1", "::1")  # fmt: skip


def objects_file(data_dir: Path) -> Path:
    """Where objects are, unless in etcd; names of what SQLite keeps beside it begin with its."""
    return data_dir / "objects.db"


def service_accounts_key(data_dir: Path) -> Path:
    """Signs tokens of service accounts, unless another key was given."""
    return data_dir / "service-accounts.key"


@asynccontextmanager
async def open_storage(
    config: ServerConfig,
    catalog: Iterable[Resource],
    registry: CollectorRegistry,
    clock: Clock,
    lane: Runner,
    requests: StorageRequests,
    given: Storage | None = None,
) -> AsyncIterator[Storage]:
    """``given``: its owner opened it, and closes it. Raises StorageLocked, StorageCorrupt,
    Unavailable, ConfigInvalid."""
    opening = open_plain_storage(config, clock) if given is None else nullcontext(given)
    async with opening as plain:
        storage = MeasuredStorage(plain, requests)
        if config.encryption_config is None:
            yield FormattedStorage(storage, config.storage_format)
            return
        from proreus.server.storage.encryption.opening import open_encrypted

        resources = {
            resource.store_name: f"{resource.plural}.{resource.stored_gvk.group}".rstrip(".")
            for resource in catalog
        }
        encrypting = open_encrypted(
            config.encryption_config, storage, resources, registry, clock, lane
        )
        try:
            async with encrypting as encrypted:
                yield FormattedStorage(encrypted, config.storage_format)
        except ConfigFileInvalid as error:
            raise ConfigInvalid(str(error)) from error


def open_plain_storage(config: ServerConfig, clock: Clock) -> AbstractAsyncContextManager[Storage]:
    if config.etcd:
        return _open_etcd(config, clock)
    if config.data_dir is None:
        from proreus.server.storage.memory import MemoryStorage

        return MemoryStorage.open(clock)
    from proreus.server.storage.sqlite import SqliteStorage

    config.data_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
    return SqliteStorage.open(objects_file(config.data_dir), clock)


@asynccontextmanager
async def open_audit(
    config: ServerConfig, registry: CollectorRegistry, clock: Clock, offload: Offload
) -> AsyncIterator[Auditor | None]:
    """None: nothing is recorded. Raises ConfigInvalid."""
    try:
        async with open_auditor(config.audit, registry, clock, offload.audit) as auditor:
            yield auditor
    except AuditInvalid as error:
        raise ConfigInvalid(str(error)) from error


@asynccontextmanager
async def open_authorization(
    config: ServerConfig,
    collections: Collections,
    registry: CollectorRegistry,
    clock: Clock,
    runner: Runner,
) -> AsyncIterator[AccessControl]:
    """Raises ConfigInvalid."""
    options = AuthorizationOptions(
        modes=config.authorization_mode,
        webhook=config.authorization_webhook,
        config_file=config.authorization_config,
    )
    try:
        async with open_access_control(options, collections, registry, clock, runner) as access:
            yield access
    except ConfigFileInvalid as error:
        raise ConfigInvalid(str(error)) from error


def _open_etcd(config: ServerConfig, clock: Clock) -> AbstractAsyncContextManager[Storage]:
    try:
        from proreus.server.storage.etcd import EtcdConfig, EtcdStorage

        files = config.etcd_client
        etcd = EtcdConfig(
            config.etcd,
            ca_file=config.etcd_ca_file,
            certificate_file=files.certificate if files else None,
            key_file=files.key if files else None,
        )
        return EtcdStorage.open(etcd, clock)
    except (ImportError, ValueError) as error:
        raise ConfigInvalid(str(error)) from error


def make_admission(config: ServerConfig, inputs: AdmissionInputs) -> BuiltAdmission:
    """Raises ConfigInvalid."""
    try:
        return build_admission(config.admission, inputs)
    except ConfigFileInvalid as error:
        raise ConfigInvalid(str(error)) from error


def make_credentials(config: ServerConfig, now: float) -> AdminCredentials:
    if config.data_dir is None:
        return AdminCredentials(admin_token(None))
    config.data_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
    files = None
    if config.tls:
        hosts = [*_NAMES, *config.advertise, *filter(None, [config.advertise_address])]
        if config.bind_address not in ("0.0.0.0", "::"):
            hosts.append(config.bind_address)
        files = ensure_files(
            tls_folder(config.data_dir), hosts, admin=ADMIN, groups=(MASTERS,), now=now
        )
    return AdminCredentials(admin_token(config.data_dir), files)


async def make_shared_files(config: ServerConfig, clock: Clock) -> AdminCredentials:
    """What is in the data folder and a server makes when it first needs it, made now: processes
    that share the folder would make it at once, each another. Raises NotPrivate, UnusableFiles,
    ConfigInvalid."""
    if config.data_dir is not None:
        wanted = config.authentication.service_accounts
        own = service_accounts_key(config.data_dir)
        try:
            await ServiceAccountKeys(own, wanted.signing_key_file).signing()
        except AuthenticationInvalid as error:
            raise ConfigInvalid(str(error)) from error
    return make_credentials(config, clock.now())


def make_authentication(
    config: ServerConfig,
    known: AdminCredentials,
    collections: Collections,
    offload: Offload,
    registry: CollectorRegistry,
    clock: Clock,
) -> BuiltAuthentication:
    """Raises ConfigInvalid."""
    folder, own_proxy = config.data_dir, ""
    if known.tls is not None and config.proxy_client is None:
        own_proxy = known.tls.front_proxy_authority.certificate.read_text()
    inputs = AuthenticationInputs(
        collections=collections,
        clock=clock,
        registry=registry,
        offload=offload,
        users={**config.tokens, known.token: ADMIN_USER},
        key_file=service_accounts_key(folder) if folder is not None else None,
        authority=known.tls.authority.certificate.read_text() if known.tls else "",
        front_proxy_authority=own_proxy,
    )
    try:
        return build_authentication(config.authentication, inputs)
    except AuthenticationInvalid as error:
        raise ConfigInvalid(str(error)) from error
