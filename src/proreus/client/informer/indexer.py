"""The local copy: objects by key and by named index. One writer, readers on any thread.

Receives: applied deltas, from ``informer``.  Hands on: objects, to ``lister`` and handlers.
Invariant: an object is in a bucket of an index iff the index's function gave that value for it.
Threads: only the informer's loop writes. A read touches one dict with one operation (a lookup, or a
copy of its values), which the interpreter makes atomic, and objects never change; so every query is
a snapshot and takes no lock. Two queries are two snapshots. A new index becomes visible whole, by
swapping the table of indexes.
Cost: get 0.1 µs; by_index 0.3 µs plus 5 ns per object found; put 1 µs per index.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Generic, TypeAlias

from proreus.api.object import KubeObject
from proreus.api.object_type import AnyObject
from proreus.client.user_code import UserCode

IndexFunction: TypeAlias = Callable[[AnyObject], Iterable[str]]
"""The values under which an object is found: none, one or several."""

NAMESPACE_INDEX = "namespace"


def by_namespace(obj: KubeObject) -> tuple[str, ...]:
    return (obj.namespace,)


class UnknownIndex(LookupError):
    """A query named an index that was never added."""


class IndexExists(ValueError):
    """An index of that name is there already."""


class _Index(Generic[AnyObject]):
    """Buckets of one index, and each key's values, so that an update need not ask the function
    about the old object again (asking may mean decoding it)."""

    __slots__ = ("_border", "buckets", "function", "values_of")

    def __init__(self, name: str, function: IndexFunction[AnyObject]) -> None:
        self._border = UserCode(f"index function {name}")
        self.function = function
        self.buckets: dict[str, dict[str, AnyObject]] = {}
        self.values_of: dict[str, tuple[str, ...]] = {}

    def put(self, key: str, obj: AnyObject) -> None:
        # An object that the function cannot read is found by key, but not in this index.
        try:
            new = tuple(dict.fromkeys(self.function(obj)))
        except (Exception, asyncio.CancelledError) as failure:
            self._border.failed(failure)
            new = ()
        old = self.values_of.get(key, ())
        if old != new:
            self._leave(key, [value for value in old if value not in new])
            self.values_of[key] = new
        for value in new:
            bucket = self.buckets.get(value)
            if bucket is None:
                # Published with its first object in it: no reader sees an empty bucket.
                self.buckets[value] = {key: obj}
            else:
                bucket[key] = obj

    def remove(self, key: str) -> None:
        self._leave(key, self.values_of.pop(key, ()))

    def _leave(self, key: str, values: Iterable[str]) -> None:
        for value in values:
            bucket = self.buckets[value]
            if len(bucket) == 1:
                del self.buckets[value]
            else:
                del bucket[key]


class _NamespaceIndex(_Index[AnyObject]):
    """The one that every indexer has. A key says its namespace for good: nothing to remember and no
    user's function to guard against."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(NAMESPACE_INDEX, by_namespace)

    def put(self, key: str, obj: AnyObject) -> None:
        bucket = self.buckets.get(obj.namespace)
        if bucket is None:
            self.buckets[obj.namespace] = {key: obj}  # as above
        else:
            bucket[key] = obj

    def remove(self, key: str) -> None:
        self._leave(key, (key.rpartition("/")[0],))


class Indexer(Generic[AnyObject]):
    """Objects by key. ``namespace`` is always indexed; further indexes may be added at any time."""

    def __init__(self, indexes: Mapping[str, IndexFunction[AnyObject]] | None = None) -> None:
        self._objects: dict[str, AnyObject] = {}
        self.by_key = MappingProxyType(self._objects)  # for who looks at every event
        self._indexes: dict[str, _Index[AnyObject]] = {NAMESPACE_INDEX: _NamespaceIndex()}
        self.add_indexes(indexes or {})

    # Reading, from any thread.

    def __len__(self) -> int:
        return len(self._objects)

    def __contains__(self, key: str) -> bool:
        return key in self._objects

    def get(self, key: str) -> AnyObject | None:
        return self._objects.get(key)

    def keys(self) -> list[str]:
        return list(self._objects)

    def objects(self) -> list[AnyObject]:
        return list(self._objects.values())

    def by_index(self, name: str, value: str) -> list[AnyObject]:
        """The objects for which index ``name`` gave ``value``, in no order. Raises UnknownIndex."""
        bucket = self._index(name).buckets.get(value)
        return [] if bucket is None else list(bucket.values())

    def keys_by_index(self, name: str, value: str) -> list[str]:
        return sorted(self._index(name).buckets.get(value, ()))

    def index_values(self, name: str) -> list[str]:
        """The values for which index ``name`` has objects."""
        return list(self._index(name).buckets)

    def index_names(self) -> list[str]:
        return list(self._indexes)

    def missing_indexes(
        self, indexes: Mapping[str, IndexFunction[AnyObject]]
    ) -> dict[str, IndexFunction[AnyObject]]:
        """Those that are not there. Raises IndexExists for a name with another function."""
        known = self._indexes
        if taken := sorted(n for n, f in indexes.items() if n in known and known[n].function != f):
            raise IndexExists(f"already indexed by another function: {', '.join(taken)}")
        return {name: function for name, function in indexes.items() if name not in known}

    # Writing, from the informer's loop only.

    def put(self, key: str, obj: AnyObject) -> AnyObject | None:
        """Store the newest state; returns the one before."""
        old = self._objects.get(key)
        self._objects[key] = obj
        for index in self._indexes.values():
            index.put(key, obj)
        return old

    def remove(self, key: str) -> AnyObject | None:
        """Forget an object; returns its last state."""
        old = self._objects.pop(key, None)
        if old is not None:
            for index in self._indexes.values():
                index.remove(key)
        return old

    def add_indexes(self, indexes: Mapping[str, IndexFunction[AnyObject]]) -> None:
        """Index what is there and what comes. Raises IndexExists, and then adds none."""
        if taken := sorted(self._indexes.keys() & indexes.keys()):
            raise IndexExists(f"already indexed by {', '.join(taken)}")
        added = {name: _Index(name, function) for name, function in indexes.items()}
        for key, obj in self._objects.items():
            for index in added.values():
                index.put(key, obj)
        self._indexes = {**self._indexes, **added}

    def _index(self, name: str) -> _Index[AnyObject]:
        try:
            return self._indexes[name]
        except KeyError:
            known = ", ".join(sorted(self._indexes))
            raise UnknownIndex(f"no index {name!r}, only {known}") from None

    def __repr__(self) -> str:
        return f"<Indexer of {len(self)} objects by {', '.join(self._indexes)}>"
