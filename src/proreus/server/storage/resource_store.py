"""The objects of one resource type: read, change, compare-and-swap, written once for every Storage.

Kubernetes' ``storage.Interface`` as a registry sees it. Keys are relative to the resource's prefix,
in and out: ``namespace/name``, or ``name`` in resources without namespaces.

Three rules live here (spec/server §3.2):

- stale suggestion: a caller may hand over its cached copy to save a read. What fails on it is tried
  once more on the stored value, unless that is the very same revision: then the first error stands.
- no-op is silent: equal bytes are not written, keep their revision and make no event. If the copy
  came from a cache it is compared with the stored value first.
- nobody gives up: a lost race starts over from the value that won; the caller's deadline ends it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from inspect import isawaitable
from typing import TypeVar

import msgspec

from proreus.api.status import ApiError
from proreus.server.storage.interface import (
    KeyExists,
    KeyNotFound,
    Page,
    PreconditionFailed,
    RevisionConflict,
    Storage,
    StorageError,
    StoredValue,
)

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Preconditions:
    """What must hold of the stored object; None: anything."""

    uid: str | None = None
    resource_version: str | None = None

    def check(self, key: str, current: StoredValue | None) -> None:
        """Raise PreconditionFailed unless they hold. Decodes only if a uid is asked for."""
        if self.uid is not None and (found := _uid(current)) != self.uid:
            raise PreconditionFailed(key, "UID", self.uid, found)
        if self.resource_version is not None:
            version = str(current.revision) if current else ""
            if version != self.resource_version:
                raise PreconditionFailed(key, "ResourceVersion", self.resource_version, version)


class Update(msgspec.Struct, frozen=True, gc=False):
    """What an update wants stored."""

    value: bytes
    ttl_s: float | None = None


class Updated(msgspec.Struct, frozen=True, gc=False):
    """What is stored now and what was before; ``is_written`` is False for a no-op."""

    new: StoredValue
    old: StoredValue | None
    is_written: bool


UpdateFunction = Callable[[StoredValue | None], Update | Awaitable[Update]]
ValidateFunction = Callable[[StoredValue], Awaitable[None] | None]


class ResourceStore:
    """See the module. Made by ``factory``, one per resource type over one shared storage."""

    def __init__(self, storage: Storage, prefix: str) -> None:
        self._storage = storage
        self.prefix = prefix

    async def create(self, key: str, stored: bytes, ttl_s: float | None = None) -> StoredValue:
        """Write an object that must not exist. Raises KeyExists."""
        try:
            revision = await self._storage.create(self.prefix + key, stored, ttl_s=ttl_s)
        except KeyExists as found:
            raise KeyExists(self._relative(found.current)) from found
        return StoredValue(key, stored, revision)

    async def get(self, key: str, *, at_least: int = 0) -> StoredValue | None:
        found = await self._storage.get(self.prefix + key, at_least=at_least)
        return self._relative(found) if found else None

    def is_newest(self, key: str, revision: int) -> bool:
        """Whether it is known, without asking storage, that nothing newer is stored."""
        return self._storage.is_newest(self.prefix + key, revision)

    async def list(
        self, *, namespace: str = "", start: str = "", limit: int = 0, revision: int = 0
    ) -> Page:
        """Objects in key order, of one namespace or of all; ``start`` is a relative key."""
        prefix = f"{self.prefix}{namespace}/" if namespace else self.prefix
        page = await self._storage.list(
            prefix, start=self.prefix + start, limit=limit, revision=revision
        )
        return replace(page, items=tuple(map(self._relative, page.items)))

    async def count(self) -> int:
        return await self._storage.count(self.prefix)

    async def guaranteed_update(
        self,
        key: str,
        update: UpdateFunction,
        *,
        preconditions: Preconditions | None = None,
        cached: StoredValue | None = None,
        ignore_not_found: bool = False,
    ) -> Updated:
        """Store what ``update`` makes of the present value; it may be called several times.

        ``update`` may be plain or async and refuses by raising ApiError or StorageError. With
        ``ignore_not_found`` it gets None for a missing key, and what it returns is created.
        Raises KeyNotFound, PreconditionFailed, or what ``update`` raises.
        """

        async def attempt(current: StoredValue | None) -> Update:
            if preconditions is not None:
                preconditions.check(self.prefix + key, current)
            result = update(current)
            return await result if isawaitable(result) else result

        read = self._reader(key, ignore_not_found=ignore_not_found)
        current, is_fresh = (cached, False) if cached else (await read(), True)
        while True:
            wanted, current, is_fresh = await _suggest(attempt, read, current, is_fresh)
            if current and wanted.value == current.value:
                if not is_fresh:
                    current, is_fresh = await read(), True
                if current and wanted.value == current.value:
                    return Updated(current, current, is_written=False)
                continue
            try:
                revision = await self._swap(key, current, wanted)
            except (KeyExists, RevisionConflict) as lost:
                current, is_fresh = self._winner(key, lost, ignore_not_found), True
            else:
                return Updated(StoredValue(key, wanted.value, revision), current, is_written=True)

    async def delete(
        self,
        key: str,
        *,
        preconditions: Preconditions | None = None,
        validate: ValidateFunction | None = None,
        cached: StoredValue | None = None,
    ) -> StoredValue:
        """Remove an object; returns its last value at the revision of the deletion.

        Raises KeyNotFound, PreconditionFailed, or what ``validate`` raises.
        """

        async def attempt(current: StoredValue | None) -> None:
            assert current is not None, "a missing key is an error before"
            if preconditions is not None:
                preconditions.check(self.prefix + key, current)
            verdict = validate(current) if validate else None
            if isawaitable(verdict):
                await verdict

        read = self._reader(key, ignore_not_found=False)
        current, is_fresh = (cached, False) if cached else (await read(), True)
        while True:
            _, current, is_fresh = await _suggest(attempt, read, current, is_fresh)
            assert current is not None
            try:
                revision = await self._storage.delete(
                    self.prefix + key, expected=current.revision, replaced=current.value
                )
            except RevisionConflict as lost:
                current, is_fresh = self._winner(key, lost, ignore_not_found=False), True
            else:
                return StoredValue(key, current.value, revision)

    def _reader(
        self, key: str, *, ignore_not_found: bool
    ) -> Callable[[], Awaitable[StoredValue | None]]:
        async def read() -> StoredValue | None:
            found = await self.get(key)
            if found is None and not ignore_not_found:
                raise KeyNotFound(self.prefix + key)
            return found

        return read

    async def _swap(self, key: str, current: StoredValue | None, wanted: Update) -> int:
        full = self.prefix + key
        if current is None:
            return await self._storage.create(full, wanted.value, ttl_s=wanted.ttl_s)
        return await self._storage.update(
            full,
            wanted.value,
            expected=current.revision,
            ttl_s=wanted.ttl_s,
            replaced=current.value,
        )

    def _winner(
        self, key: str, lost: KeyExists | RevisionConflict, ignore_not_found: bool
    ) -> StoredValue | None:
        if lost.current is not None:
            return self._relative(lost.current)
        if not ignore_not_found:
            raise KeyNotFound(self.prefix + key) from lost
        return None

    def _relative(self, found: StoredValue) -> StoredValue:
        return StoredValue(found.key[len(self.prefix) :], found.value, found.revision)

    def __repr__(self) -> str:
        return f"<ResourceStore of {self.prefix} in {self._storage!r}>"


async def _suggest(
    attempt: Callable[[StoredValue | None], Awaitable[T]],
    read: Callable[[], Awaitable[StoredValue | None]],
    current: StoredValue | None,
    is_fresh: bool,
) -> tuple[T, StoredValue | None, bool]:
    """Try on a copy that may be stale, then on the stored value; returns what it was tried on."""
    try:
        return await attempt(current), current, is_fresh
    except (ApiError, StorageError):
        if is_fresh:
            raise
        stored = await read()
        if _revision(stored) == _revision(current):
            raise
    return await attempt(stored), stored, True


def _revision(value: StoredValue | None) -> int:
    return value.revision if value else 0


def _uid(current: StoredValue | None) -> str:
    if current is None:
        return ""
    return _header.decode(current.value).metadata.uid


class _Metadata(msgspec.Struct, gc=False):
    uid: str = ""


class _Header(msgspec.Struct, gc=False):
    metadata: _Metadata = msgspec.field(default_factory=_Metadata)


_header = msgspec.json.Decoder(_Header)  # passes over the rest at a tenth of what decoding costs
