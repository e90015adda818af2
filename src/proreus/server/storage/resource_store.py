"""The objects of one resource type: read, change, compare-and-swap, written once for every Storage.

Kubernetes' ``storage.Interface`` as a registry sees it. Keys are relative to the resource's prefix,
in and out: ``namespace/name``, or ``name`` in resources without namespaces.

Four rules live here (server.md §3.2):

- stale suggestion: a caller may hand over its cached copy to save a read. What fails on it is tried
  once more on the stored value, unless that is the very same revision: then the first error stands.
- no-op is silent: equal bytes are not written, keep their revision and make no event, unless the
  storage would keep them in another form by now. If the copy came from a cache it is compared with
  the stored value first.
- what is too large for etcd is refused by every storage, so that no object grows without bound.
- no bound on retries: a lost race starts over from the value that won, until the caller's deadline.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace

import msgspec

from proreus.api.status import ApiError
from proreus.lazy_dataclass import dataclass
from proreus.server.storage.interface import (
    VALUE_BYTES_MAX,
    KeyExists,
    KeyNotFound,
    Page,
    PreconditionFailed,
    RevisionConflict,
    Storage,
    StorageError,
    StoredValue,
    ValueTooLarge,
)


@dataclass(frozen=True, slots=True)
class Preconditions:
    """What must hold of the stored object; None: anything."""

    uid: str | None = None
    resource_version: str | None = None

    def check(self, key: str, current: StoredValue | None) -> None:
        """Raise PreconditionFailed unless they hold. Decodes only if there is a uid to compare."""
        if self.uid is not None and (found := _uid(current)) != self.uid:
            raise PreconditionFailed(key, "UID", self.uid, found)
        if self.resource_version is not None:
            version = str(current.revision) if current else ""
            if version != self.resource_version:
                raise PreconditionFailed(key, "ResourceVersion", self.resource_version, version)


class Removal(msgspec.Struct, frozen=True, gc=False):
    """That an update wants the object removed; ``value`` is what its caller gets of it.

    ``missing_ok``: it is as well if another writer removes it first.
    """

    value: bytes
    missing_ok: bool = False


class Outcome(msgspec.Struct, frozen=True, gc=False):
    """What a write left behind, and what was there before; both are the same after a no-op.

    ``is_removed``: ``new`` is the last value, at the revision of the deletion. The revision is 0
    if nothing was stored (a dry run of a create).
    """

    new: StoredValue
    old: StoredValue | None
    is_removed: bool = False

    @property
    def is_created(self) -> bool:
        return self.old is None


# From the present value to what takes its place.
UpdateFunction = Callable[[StoredValue | None], Awaitable[bytes | Removal]]
ValidateFunction = Callable[[StoredValue], Awaitable[None]]


class ResourceStore:
    """See the module. One per resource type over one shared storage: ``resource_stores``."""

    def __init__(self, storage: Storage, prefix: str) -> None:
        self._storage = storage
        self.prefix = prefix

    async def create(
        self, key: str, stored: bytes, ttl_s: float | None = None, *, dry_run: bool = False
    ) -> StoredValue:
        """Write an object that must not exist. Raises KeyExists, ValueTooLarge."""
        if dry_run:
            if (found := await self.get(key)) is not None:
                raise KeyExists(found)
            return StoredValue(key, stored, 0)
        _check_size(stored)
        try:
            revision = await self._storage.create(self.prefix + key, stored, ttl_s=ttl_s)
        except KeyExists as error:
            raise KeyExists(self._relative(error.current)) from error
        return StoredValue(key, stored, revision)

    async def get(self, key: str, *, at_least: int = 0) -> StoredValue | None:
        found = await self._storage.get(self.prefix + key, at_least=at_least)
        return self._relative(found) if found else None

    def is_newest(self, key: str, revision: int) -> bool | None:
        """Whether nothing newer is stored; None: only asking storage can tell."""
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
        ttl_s: float | None = None,
        dry_run: bool = False,
    ) -> Outcome:
        """Store what ``update`` makes of the present value; it may be called several times.

        ``update`` refuses by raising ApiError or StorageError. With ``ignore_not_found`` it gets
        None for a missing key, and what it returns is created. A dry run ends before the write that
        would find out about a copy that is stale: it begins with what is stored.
        Raises KeyNotFound, PreconditionFailed, ValueTooLarge, or what ``update`` raises.
        """
        current, is_fresh = cached, cached is None or dry_run
        if current is None or dry_run:
            current = await self._read(key, ignore_not_found)
        while True:
            try:
                if preconditions is not None:
                    preconditions.check(self.prefix + key, current)
                wanted = await update(current)
            except (ApiError, StorageError):
                if is_fresh:
                    raise
                stored = await self._read(key, ignore_not_found)
                if _revision(stored) == _revision(current):
                    raise
                current, is_fresh = stored, True
                continue
            is_removed = isinstance(wanted, Removal)
            value = wanted.value if isinstance(wanted, Removal) else wanted
            if dry_run:
                return Outcome(StoredValue(key, value, _revision(current)), current, is_removed)
            if current and not is_removed and value == current.value:
                if not is_fresh:
                    current, is_fresh = await self._read(key, ignore_not_found), True
                    if current is None or value != current.value:
                        continue
                if not current.is_stale:
                    return Outcome(current, current)
            try:
                revision = await self._swap(key, current, wanted, ttl_s)
            except (KeyExists, RevisionConflict) as lost:
                if lost.current is None and isinstance(wanted, Removal) and wanted.missing_ok:
                    return Outcome(StoredValue(key, value, _revision(current)), current, is_removed)
                current, is_fresh = self._winner(key, lost, ignore_not_found), True
            else:
                return Outcome(StoredValue(key, value, revision), current, is_removed)

    async def delete(
        self,
        key: str,
        *,
        preconditions: Preconditions | None = None,
        validate: ValidateFunction | None = None,
        cached: StoredValue | None = None,
        dry_run: bool = False,
    ) -> StoredValue:
        """Remove an object; returns its last value at the revision of the deletion.

        Raises KeyNotFound, PreconditionFailed, or what ``validate`` raises.
        """

        async def remove(current: StoredValue | None) -> Removal:
            assert current is not None, "a missing key is an error before"
            if validate is not None:
                await validate(current)
            return Removal(current.value)

        done = await self.guaranteed_update(
            key, remove, preconditions=preconditions, cached=cached, dry_run=dry_run
        )
        return done.new

    async def _read(self, key: str, ignore_not_found: bool) -> StoredValue | None:
        found = await self.get(key)
        if found is None and not ignore_not_found:
            raise KeyNotFound(self.prefix + key)
        return found

    async def _swap(
        self, key: str, current: StoredValue | None, wanted: bytes | Removal, ttl_s: float | None
    ) -> int:
        full = self.prefix + key
        if isinstance(wanted, Removal):
            assert current is not None, "only what exists is removed"
            return await self._storage.delete(
                full, expected=current.revision, replaced=current.value
            )
        _check_size(wanted)
        if current is None:
            return await self._storage.create(full, wanted, ttl_s=ttl_s)
        return await self._storage.update(
            full, wanted, expected=current.revision, ttl_s=ttl_s, replaced=current.value
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
        key = found.key[len(self.prefix) :]
        return StoredValue(key, found.value, found.revision, found.is_stale)

    def __repr__(self) -> str:
        return f"<ResourceStore of {self.prefix} in {self._storage!r}>"


def _check_size(value: bytes) -> None:
    if len(value) > VALUE_BYTES_MAX:
        raise ValueTooLarge(f"{len(value)} bytes are more than {VALUE_BYTES_MAX}")


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
