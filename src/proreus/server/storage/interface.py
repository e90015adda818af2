"""The contract of storage: one revisioned, watchable key-value space (server.md §3).

A ``Storage`` holds every object of a server under ``/registry/<resource>/[<namespace>/]<name>``.
Values are the object's JSON bytes without kind, apiVersion and resourceVersion ("Bytes first" in
ARCHITECTURE.md); storage never looks inside them.

One global revision counts writes. Each write takes the next revision; a key's ``revision`` is that
of its last write. What a caller may rely on (docs/guarantees.md):

- durable: a write is acknowledged only after it would survive a crash;
- linearizable: ``current_revision`` and reads without a revision see every acknowledged write;
- atomic: ``create``, ``update`` and ``delete`` compare and write in one step;
- a watch after revision N delivers every change with a higher revision once, in revision order,
  each with the previous value if it is asked to, or fails with ``Compacted``.

The loop of read, change, compare-and-swap with preconditions is written once, for every
implementation, in ``resource_store``.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from typing import Protocol

import msgspec

from proreus.lazy_dataclass import dataclass
from proreus.server.storage.health import Health

# What a store gives for a value whose checksum does not match: it was stored and is lost.
DAMAGED = b""
COMPACTION_S = 300.0  # as kube-apiserver
VALUE_BYTES_MAX = 3 * 512 * 1024  # what etcd takes in one request by default


# The three below are made for every write: msgspec makes them in a tenth of the time.
class StoredValue(msgspec.Struct, frozen=True, gc=False):
    """One key as of its last write.

    ``is_stale``: it is kept in a form that is written no more (encrypted under an old key), and the
    same value is worth another write.
    """

    key: str
    value: bytes
    revision: int
    is_stale: bool = False


class Change(msgspec.Struct, frozen=True, gc=False):
    """One write. Created: ``old`` is None. Deleted: ``new`` is None. A ``watch`` may have left out
    what was there before.

    ``new.revision`` equals ``revision``; ``old.revision`` is that of the write it replaces.
    """

    revision: int
    key: str
    old: StoredValue | None
    new: StoredValue | None


class ChangeBatch(msgspec.Struct, frozen=True, gc=False):
    """Changes in revision order, then a promise: all changes up to ``revision`` have been given.

    A batch without changes is progress only. A transaction of several keys (etcd) is never split
    over two batches, so resuming after ``revision`` neither loses nor repeats.
    """

    changes: tuple[Change, ...]
    revision: int


@dataclass(frozen=True, slots=True)
class Page:
    """Part of a list, in ascending byte order of keys, all read at ``revision``.

    ``has_more`` says that keys follow the last one; ``remaining`` counts them.
    """

    items: tuple[StoredValue, ...]
    revision: int
    has_more: bool
    remaining: int


@dataclass(frozen=True, slots=True)
class PastValue:
    """What a key was from ``revision`` on; ``value`` None: it was deleted."""

    revision: int
    value: bytes | None


class StorageError(Exception):
    """Root of all storage failures:

    StorageError
    ├── KeyExists          create found the key (``current``)
    ├── KeyNotFound        update or delete of a key that is not there (``resource_store``)
    ├── PreconditionFailed the object is not the one its caller meant (``resource_store``)
    ├── RevisionConflict   compare failed; ``current`` is what is there, None if nothing
    ├── Compacted          the revision asked for is gone (``compacted``: oldest readable one)
    ├── FutureRevision     the revision asked for is not reached (``current``)
    ├── InvalidKey         a key outside the key space (``..``, empty segment, no prefix)
    ├── Unavailable        no answer in time, connection lost, no leader: try again later;
    │   │                  for a write: the outcome is unknown
    │   └── StorageBroken  the disk failed: writes are refused until the store is opened anew
    ├── StorageFull        no space left; nothing was written (etcd may have kept the very write
    │                      that reached its limit)
    ├── StorageReadOnly    the file or its file system cannot be written to; nothing was written
    ├── ValueTooLarge      more than VALUE_BYTES_MAX (``resource_store``), or than the store takes
    │                      in one value; nothing was written
    ├── AccessDenied       the store refuses our name, password or certificate
    ├── StorageLocked      another process owns the file
    └── StorageCorrupt     the file is torn, foreign, or written by a newer version
    """


class KeyExists(StorageError):
    def __init__(self, current: StoredValue) -> None:
        super().__init__(f"key exists: {current.key}")
        self.current = current


class KeyNotFound(StorageError):
    def __init__(self, key: str) -> None:
        super().__init__(f"key not found: {key}")
        self.key = key


class PreconditionFailed(StorageError):
    """``str`` is Kubernetes' "Precondition failed: …"; ``detail`` what its conflict message says.

    (server.md §3.2)
    """

    def __init__(self, key: str, field: str, wanted: str, found: str) -> None:
        super().__init__(
            f"Precondition failed: {field} in precondition: {wanted}, "
            f"{field} in object meta: {found}"
        )
        self.key = key
        self.field = field
        self.wanted = wanted
        self.found = found

    @property
    def detail(self) -> str:
        return (
            f"StorageError: invalid object, Code: 4, Key: {self.key}, ResourceVersion: 0, "
            f"AdditionalErrorMsg: {self}"
        )


class RevisionConflict(StorageError):
    def __init__(self, key: str, expected: int, current: StoredValue | None) -> None:
        found = current.revision if current else "no such key"
        super().__init__(f"{key}: expected revision {expected}, found {found}")
        self.current = current


class Compacted(StorageError):
    def __init__(self, wanted: int, compacted: int) -> None:
        super().__init__(f"revision {wanted} has been compacted; oldest is {compacted}")
        self.wanted = wanted
        self.compacted = compacted


class FutureRevision(StorageError):
    def __init__(self, wanted: int, current: int) -> None:
        super().__init__(f"revision {wanted} is in the future; current is {current}")
        self.wanted = wanted
        self.current = current


class InvalidKey(StorageError):
    pass


class Unavailable(StorageError):
    pass


class StorageBroken(Unavailable):
    pass


class StorageFull(StorageError):
    pass


class StorageReadOnly(StorageError):
    pass


class ValueTooLarge(StorageError):
    pass


class AccessDenied(StorageError):
    pass


class StorageLocked(StorageError):
    pass


class StorageCorrupt(StorageError):
    pass


# Seconds after which a key is removed; None: it is kept for good.
Ttl = float | None
# The value that a write replaces, if the caller has it at hand.
OldValue = bytes | None


class Storage(Protocol):
    """See the module. Opened and closed by its ``open`` context manager; one event loop."""

    async def create(self, key: str, value: bytes, *, ttl_s: Ttl = None) -> int:
        """Write a key that must not exist; returns its revision. Raises KeyExists."""
        ...

    async def update(
        self, key: str, value: bytes, *, expected: int, ttl_s: Ttl = None, replaced: OldValue = None
    ) -> int:
        """Replace a value whose revision is ``expected``. Raises RevisionConflict.

        ``ttl_s`` starts anew; None keeps the key for good. Equal bytes are still a write: the
        no-op rule needs the caller's view of freshness and lives in ``resource_store``.
        ``replaced`` is the value at ``expected``: watches get it, and a store that keeps no values
        in memory need not read it for them.
        """
        ...

    async def delete(self, key: str, *, expected: int, replaced: OldValue = None) -> int:
        """Remove a key whose revision is ``expected``; returns the deletion's revision."""
        ...

    async def get(self, key: str, *, at_least: int = 0) -> StoredValue | None:
        """The newest value. Raises FutureRevision if ``at_least`` is not reached."""
        ...

    def is_newest(self, key: str, revision: int) -> bool | None:
        """Whether the key's newest value has this revision, as far as that is known at once.

        Who is the only writer of a store knows, and has seen every write acknowledged before the
        call (linearizable); who shares one does not, and answers None: ask ``get``, or compare
        when writing.
        """
        ...

    async def list(
        self, prefix: str, *, start: str = "", limit: int = 0, revision: int = 0
    ) -> Page:
        """Keys under ``prefix`` (which ends with ``/``) that are >= ``start``, at most ``limit``.

        ``revision`` 0 reads the newest state; another one reads exactly that state, and raises
        Compacted or FutureRevision. ``limit`` 0 means all. The page's revision is the one read
        at: for 0 the newest.
        """
        ...

    async def count(self, prefix: str) -> int: ...

    async def current_revision(self) -> int:
        """The newest revision; sees every write acknowledged before the call (linearizable)."""
        ...

    def watch(
        self, prefix: str, *, after: int, with_old: bool = True
    ) -> AbstractAsyncContextManager[AsyncIterator[ChangeBatch]]:
        """Changes under ``prefix`` with revision > ``after``, in batches, for ever.

        ``with_old`` False: the caller has the values before, and a store that would have to read
        them leaves them out.
        Raises Compacted when ``after`` is older than history, Unavailable when the source is lost
        (the caller resumes after the last batch's revision). Progress batches come at least when
        asked for (``progress``).
        """
        ...

    async def request_progress(self) -> None:
        """Make open watches say soon, by a batch, how far they are. One that is still catching up
        need not: ``progress`` asks again."""
        ...

    async def compact(self, revision: int) -> None:
        """Forget what was overwritten or deleted before ``revision``; it stays readable itself."""
        ...

    @property
    def compacted_revision(self) -> int:
        """The oldest revision that can still be listed at; 0 if nothing was compacted."""
        ...

    async def versions(self, key: str, *, limit: int) -> tuple[PastValue, ...]:
        """What the key has been since ``compacted_revision``, oldest first, the newest ``limit`` of
        it. The first one may be older than that revision: what was there then."""
        ...

    def committed_at(self, revision: int) -> float | None:
        """When a recent write was durable, by the monotonic clock of the store; None: not known."""
        ...

    @property
    def health(self) -> Health:
        """Whether reads and writes are served, and why not."""
        ...

    async def run(self, compaction_s: float = COMPACTION_S) -> None:
        """Until cancelled; the server's TaskGroup runs it. Every ``compaction_s`` forget what is
        older than the time before, so that as much and up to twice as much is kept; 0: nothing is.

        Without it a store works the same and grows.
        """
        ...
