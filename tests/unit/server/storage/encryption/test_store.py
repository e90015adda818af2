"""A storage that encrypts: keys are rotated, other writers' values read, lost keys survived."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from proreus.server.storage.encryption.configuration import (
    AesCbc,
    AesGcm,
    Identity,
    NamedKey,
    ResourceProviders,
)
from proreus.server.storage.encryption.rules import EncryptionRules, Transformers
from proreus.server.storage.encryption.store import EncryptedStorage
from proreus.server.storage.encryption.transformers import transformers_of
from proreus.server.storage.interface import DAMAGED
from proreus.server.storage.memory import MemoryStorage
from proreus.server.storage.resource_store import ResourceStore
from proreus.testing.virtual_clock import VirtualClock

A = "/registry/secrets/default/a"
VALUE = b'{"metadata":{"name":"a"}}'
OLD, NEW = AesCbc((NamedKey("old", b"o" * 32),)), AesGcm((NamedKey("new", b"n" * 32),))
Local = AesCbc | AesGcm | Identity


def rules(*providers: Local) -> EncryptionRules:
    flat = tuple(one for provider in providers for one in transformers_of(provider))
    return EncryptionRules(
        [(ResourceProviders(("secrets",), providers), Transformers(flat))], RESOURCES
    )


RESOURCES = {"secrets": "secrets", "pods": "pods"}


@pytest.fixture
async def inner() -> AsyncIterator[MemoryStorage]:
    async with MemoryStorage.open(VirtualClock()) as storage:
        yield storage


@pytest.fixture
def storage(inner: MemoryStorage) -> EncryptedStorage:
    return EncryptedStorage(inner)


async def raw(inner: MemoryStorage, key: str = A) -> bytes:
    found = await inner.get(key)
    assert found is not None
    return found.value


async def test_only_what_the_rules_name_is_encrypted(
    inner: MemoryStorage, storage: EncryptedStorage
) -> None:
    storage.use(rules(NEW))

    await storage.create(A, VALUE)
    await storage.create("/registry/pods/default/a", VALUE)

    assert (await raw(inner)).startswith(b"k8s:enc:aesgcm:v1:new:")
    assert b"metadata" not in await raw(inner)
    assert await raw(inner, "/registry/pods/default/a") == VALUE


async def test_after_a_rotation_old_values_are_read_and_rewritten_by_the_same_update(
    inner: MemoryStorage, storage: EncryptedStorage
) -> None:
    storage.use(rules(OLD))
    await storage.create(A, VALUE)
    storage.use(rules(NEW, OLD))
    store = ResourceStore(storage, "/registry/secrets/")

    async def same(_: object) -> bytes:
        return VALUE

    first = await store.guaranteed_update("default/a", same)
    again = await store.guaranteed_update("default/a", same)

    assert first.old is not None
    assert again.new.revision == first.new.revision > first.old.revision
    assert (await raw(inner)).startswith(b"k8s:enc:aesgcm:v1:new:")
    storage.use(rules(NEW))
    found = await storage.get(A)
    assert found is not None
    assert found.value == VALUE


async def test_values_from_before_encryption_are_read_if_identity_is_a_provider(
    storage: EncryptedStorage,
) -> None:
    await storage.create(A, VALUE)
    storage.use(rules(NEW, Identity()))

    found = await storage.get(A)

    assert found is not None
    assert (found.value, found.is_stale) == (VALUE, True)


async def test_an_object_whose_key_is_lost_is_reported_and_the_others_are_served(
    storage: EncryptedStorage,
) -> None:
    storage.use(rules(OLD))
    await storage.create(A, VALUE)
    storage.use(rules(NEW))
    await storage.create("/registry/secrets/default/b", VALUE)

    page = await storage.list("/registry/secrets/")
    async with storage.watch("/registry/secrets/", after=0) as batches:
        batch = await anext(batches)

    assert [item.value for item in page.items] == [DAMAGED, VALUE]
    assert [change.new.value for change in batch.changes if change.new] == [DAMAGED, VALUE]
    await storage.delete(A, expected=page.items[0].revision)
