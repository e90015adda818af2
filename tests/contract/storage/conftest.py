"""The contract of storage runs unchanged on every implementation: a new one is done when it passes.

A test gets ``storage`` and ``place``, a prefix of its own: the stores may be shared, so tests
compare revisions with each other, never with numbers.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import pytest

from proreus.aio.clock import SystemClock
from proreus.server.prometheus import CollectorRegistry
from proreus.server.storage.encryption.configuration import AesGcm, NamedKey, ResourceProviders
from proreus.server.storage.encryption.rules import EncryptionRules, Transformers
from proreus.server.storage.encryption.store import EncryptedStorage
from proreus.server.storage.encryption.transformers import transformers_of
from proreus.server.storage.etcd import EtcdConfig, EtcdStorage
from proreus.server.storage.formatted import FormattedStorage, StorageFormat
from proreus.server.storage.interface import Storage
from proreus.server.storage.measured import MeasuredStorage, StorageRequests
from proreus.server.storage.memory import MemoryStorage
from proreus.server.storage.sqlite import SqliteStorage
from proreus.testing.virtual_clock import VirtualClock
from tests.real_etcd import EtcdCluster, started_etcd

ENCRYPTED = "places"  # the prefix of every place; one of the stores encrypts what is under it


@dataclass(frozen=True, slots=True)
class Backend:
    """A store and the way to let its time pass."""

    storage: Storage
    let_pass: Callable[[float], Awaitable[None]]


OpenBackend = Callable[[], AbstractAsyncContextManager[Backend]]


@asynccontextmanager
async def memory_backend() -> AsyncIterator[Backend]:
    clock = VirtualClock()
    async with MemoryStorage.open(clock) as storage:
        yield Backend(storage, clock.advance)


@asynccontextmanager
async def encrypted_backend() -> AsyncIterator[Backend]:
    """Around one whose requests are measured, as in a server."""
    provider = AesGcm((NamedKey("one", b"k" * 32),))
    everything = ResourceProviders(("*.*",), (provider,))
    async with memory_backend() as inner:
        requests = StorageRequests(CollectorRegistry(), {}, SystemClock().monotonic)
        storage = EncryptedStorage(MeasuredStorage(inner.storage, requests))
        transformers = Transformers(tuple(transformers_of(provider)))
        storage.use(EncryptionRules([(everything, transformers)], {ENCRYPTED: "secrets"}))
        yield Backend(storage, inner.let_pass)


def sqlite_backend(folder: Path) -> OpenBackend:
    @asynccontextmanager
    async def opened() -> AsyncIterator[Backend]:
        clock = VirtualClock()
        async with SqliteStorage.open(folder / f"{uuid4().hex}.db", clock) as storage:
            yield Backend(storage, clock.advance)

    return opened


def cbor_backend(folder: Path) -> OpenBackend:
    @asynccontextmanager
    async def opened() -> AsyncIterator[Backend]:
        async with sqlite_backend(folder)() as inner:
            storage = FormattedStorage(inner.storage, StorageFormat.CBOR)
            yield Backend(storage, inner.let_pass)

    return opened


def etcd_backend(cluster: EtcdCluster) -> OpenBackend:
    @asynccontextmanager
    async def opened() -> AsyncIterator[Backend]:
        async with EtcdStorage.open(EtcdConfig(cluster.endpoints), SystemClock()) as storage:
            # etcd's time is the machine's: a test that lets time pass waits for what follows.
            yield Backend(storage, no_wait)

    return opened


async def no_wait(_: float) -> None:
    return


@pytest.fixture(scope="session")
def etcd() -> Iterator[EtcdCluster]:
    """One member for all tests of a process; they keep to places of their own."""
    with started_etcd() as cluster:
        yield cluster


@pytest.fixture(params=["memory", "sqlite", "etcd", "encrypted", "cbor"])
def open_backend(request: pytest.FixtureRequest, tmp_path: Path) -> OpenBackend:
    match request.param:
        case "etcd":
            return etcd_backend(request.getfixturevalue("etcd"))
        case "memory":
            return memory_backend
        case "sqlite":
            return sqlite_backend(tmp_path)
        case "encrypted":
            return encrypted_backend
        case "cbor":
            return cbor_backend(tmp_path)
        case unknown:
            raise AssertionError(unknown)


@pytest.fixture
async def backend(open_backend: OpenBackend) -> AsyncIterator[Backend]:
    async with open_backend() as opened:
        yield opened


@pytest.fixture
def storage(backend: Backend) -> Storage:
    return backend.storage


@pytest.fixture
def place() -> str:
    return f"/registry/{ENCRYPTED}/{uuid4().hex}/"
