"""Wraps a storage as the configuration file says, and follows that file."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING

import structlog

from proreus.aio.clock import Clock
from proreus.aio.tasks import background
from proreus.lazy_dataclass import dataclass
from proreus.server.config_files.fields import ConfigFileInvalid
from proreus.server.config_files.followed_file import FollowedFile, Reloads
from proreus.server.offload import Runner
from proreus.server.prometheus import Collector, CollectorRegistry, Metric
from proreus.server.storage.encryption.configuration import (
    AesCbc,
    AesGcm,
    EncryptionConfiguration,
    Identity,
    Kms,
    ResourceProviders,
    Secretbox,
    parse_encryption,
)
from proreus.server.storage.encryption.rules import EncryptionRules, Transformers
from proreus.server.storage.encryption.store import EncryptedStorage, KeyService
from proreus.server.storage.encryption.transformers import Transformer, transformers_of
from proreus.server.storage.interface import Storage

if TYPE_CHECKING:  # loaded with gRPC, and only if a configuration names a service
    from proreus.server.storage.encryption.kms import KmsKey

_log = structlog.get_logger(__name__)
_TICK_S = 10.0
_FILE_S = 60.0


class EncryptionMetrics(Collector):
    def __init__(self, registry: CollectorRegistry) -> None:
        self.reloads = Reloads()
        registry.register(self)

    def collect(self) -> Iterator[Metric]:
        yield from self.reloads.families("apiserver_encryption_config_controller")


@dataclass(slots=True, eq=False)
class EncryptionFile:
    """Keeps a storage encrypting as its file says. A fault in a changed file changes nothing."""

    file: FollowedFile[EncryptionConfiguration]
    storage: EncryptedStorage
    resources: Mapping[str, str]
    clock: Clock
    _channels: AsyncExitStack = field(
        init=False, default_factory=AsyncExitStack
    )  # to the key management services in use

    async def run(self, lane: Runner) -> None:
        read_at = self.clock.monotonic()
        while True:
            await self.clock.sleep(_TICK_S)
            if self.clock.monotonic() - read_at >= _FILE_S:
                read_at = self.clock.monotonic()
                await self.reload(lane)
            for service in self.storage.key_services:
                await service.follow_when_due()

    async def reload(self, lane: Runner) -> None:
        before = self.file.value
        await self.file.reload(lane)
        if self.file.value is before:
            return
        try:
            await self.apply()
        except ConfigFileInvalid as error:
            _log.error("encryption stays as it was", error=str(error))

    async def apply(self) -> None:
        """Services of the new configuration are asked before it is used, channels to those of the
        old one are closed after. Raises ConfigFileInvalid."""
        entries: list[tuple[ResourceProviders, Transformers]] = []
        services: list[KeyService] = []
        async with AsyncExitStack() as opening:
            for entry in self.file.value.entries:
                transformers: list[Transformer] = []
                for provider in entry.providers:
                    if isinstance(provider, Kms):
                        service = await opening.enter_async_context(self._open_kms(provider))
                        services.append(service)
                        transformers.append(service)
                    else:
                        transformers.extend(_local_transformers(provider))
                entries.append((entry, Transformers(tuple(transformers))))
            before, self._channels = self._channels, opening.pop_all()
        self.storage.use(EncryptionRules(entries, self.resources), services)
        await before.aclose()

    def _open_kms(self, provider: Kms) -> AbstractAsyncContextManager[KmsKey]:
        try:
            from proreus.server.storage.encryption.kms import open_kms
        except ImportError as error:
            raise _missing(error) from error
        return open_kms(provider, self.clock)

    async def close(self) -> None:
        await self._channels.aclose()


def _local_transformers(
    provider: AesCbc | AesGcm | Secretbox | Identity,
) -> Sequence[Transformer]:
    try:
        return transformers_of(provider)
    except ImportError as error:
        raise _missing(error) from error


def _missing(error: ImportError) -> ConfigFileInvalid:
    return ConfigFileInvalid(
        f"{error.name} is needed by a provider of the encryption configuration: "
        "pip install 'proreus[encryption]'"
    )


@asynccontextmanager
async def open_encrypted(
    path: Path,
    inner: Storage,
    resources: Mapping[str, str],
    registry: CollectorRegistry,
    clock: Clock,
    lane: Runner,
) -> AsyncIterator[Storage]:
    """``resources`` says which resource is kept under a prefix. Raises ConfigFileInvalid."""
    reloads = EncryptionMetrics(registry).reloads
    file = FollowedFile(path, "encryption configuration", parse_encryption, reloads, clock)
    storage = EncryptedStorage(inner)
    followed = EncryptionFile(file, storage, resources, clock)
    try:
        await followed.apply()
        async with background(followed.run(lane)):
            yield storage
    finally:
        await followed.close()
