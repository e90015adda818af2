"""The objects of one resource in key order, as they are now.

Receives: CachedObject, from ``ingest``.  Hands on: runs of objects in key order, to ``cache``.
Invariant: keys ascend bytewise (Python's order of strings is that of their UTF-8 bytes), so
namespace "a-b" comes before "a": the key is "namespace/name" and "-" sorts before "/".

Kept as short sorted runs. Cost: reading a key 0.6 µs, a write moves at most a thousand pointers,
listing copies pointers run by run and compares nothing. A kind with an exact field (pods:
spec.nodeName) has the keys of each of its values, so that a node's pods are found without looking
at the others.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterator, Sequence

from proreus.server.watch_cache.object import CachedObject

_RUN_MAX = 1024
_HALF = _RUN_MAX // 2


class Snapshot:
    def __init__(self, ordered: Sequence[CachedObject] = (), exact_index: str = "") -> None:
        """``ordered`` must ascend by key. ``exact_index`` names a field, "" for none."""
        self._objects = [list(ordered[i : i + _HALF]) for i in range(0, len(ordered), _HALF)]
        self._keys = [[obj.key for obj in run] for run in self._objects]
        self._lasts = [run[-1] for run in self._keys]
        self._size = len(ordered)
        self._exact_index = exact_index
        self._by_exact: dict[str, list[str]] = {}
        if exact_index:
            for obj in ordered:
                self._by_exact.setdefault(obj.fields.get(exact_index, ""), []).append(obj.key)

    def __len__(self) -> int:
        return self._size

    def get(self, key: str) -> CachedObject | None:
        at = bisect_left(self._lasts, key)
        if at == len(self._lasts):
            return None
        keys = self._keys[at]
        place = bisect_left(keys, key)
        return self._objects[at][place] if keys[place] == key else None

    def put(self, obj: CachedObject) -> CachedObject | None:
        """Add or replace; returns what was there."""
        old = self._put(obj)
        if self._exact_index:
            self._reindex(old, obj)
        return old

    def remove(self, key: str) -> CachedObject | None:
        """Returns what was there."""
        old = self._remove(key)
        if self._exact_index:
            self._reindex(old, None)
        return old

    def runs(self, low: str, high: str) -> Iterator[list[CachedObject]]:
        """Objects with ``low <= key < high`` in key order, ``high`` "" meaning no end.

        The lists are the caller's. The snapshot must not change between two of them.
        """
        for at in range(bisect_left(self._lasts, low), len(self._lasts)):
            keys, objects = self._keys[at], self._objects[at]
            first = bisect_left(keys, low) if keys[0] < low else 0
            if high and keys[-1] >= high:
                if found := objects[first : bisect_left(keys, high)]:
                    yield found
                return
            yield objects[first:]

    def everything_in(self, namespace: str) -> list[CachedObject]:
        """All objects of a namespace, of all for "". Costs nothing where there are none."""
        if not self._size:
            return []
        low, high = (f"{namespace}/", f"{namespace}0") if namespace else ("", "")
        return [obj for run in self.runs(low, high) for obj in run]

    def runs_with(self, exact: str, low: str, high: str) -> Iterator[list[CachedObject]]:
        """Like ``runs``, only objects whose exact field has this value."""
        keys = self._by_exact.get(exact, [])
        end = bisect_left(keys, high) if high else len(keys)
        found = [self.get(key) for key in keys[bisect_left(keys, low) : end]]
        if found:
            yield [obj for obj in found if obj is not None]

    def count(self, low: str, high: str) -> int:
        below_high = self._below(high) if high else self._size
        return max(0, below_high - self._below(low))

    def _put(self, obj: CachedObject) -> CachedObject | None:
        key, lasts = obj.key, self._lasts
        if not lasts:
            self._keys, self._objects, self._lasts = [[key]], [[obj]], [key]
            self._size = 1
            return None
        at = min(bisect_left(lasts, key), len(lasts) - 1)
        keys, objects = self._keys[at], self._objects[at]
        place = bisect_left(keys, key)
        if place < len(keys) and keys[place] == key:
            old, objects[place] = objects[place], obj
            return old
        keys.insert(place, key)
        objects.insert(place, obj)
        lasts[at] = keys[-1]
        self._size += 1
        if len(keys) > _RUN_MAX:
            self._split(at)
        return None

    def _remove(self, key: str) -> CachedObject | None:
        at = bisect_left(self._lasts, key)
        if at == len(self._lasts):
            return None
        keys, objects = self._keys[at], self._objects[at]
        place = bisect_left(keys, key)
        if keys[place] != key:
            return None
        del keys[place]
        self._size -= 1
        old = objects.pop(place)
        if keys:
            self._lasts[at] = keys[-1]
        else:
            del self._keys[at], self._objects[at], self._lasts[at]
        return old

    def _reindex(self, old: CachedObject | None, new: CachedObject | None) -> None:
        if old is not None and new is not None and old.fields == new.fields:
            return
        before = old.fields.get(self._exact_index, "") if old is not None else None
        after = new.fields.get(self._exact_index, "") if new is not None else None
        if before == after:
            return
        if old is not None and before is not None:
            keys = self._by_exact[before]
            del keys[bisect_left(keys, old.key)]
            if not keys:
                del self._by_exact[before]
        if new is not None and after is not None:
            insort(self._by_exact.setdefault(after, []), new.key)

    def _below(self, key: str) -> int:
        at = bisect_left(self._lasts, key)
        whole = sum(map(len, self._keys[:at]))
        return whole + (bisect_left(self._keys[at], key) if at < len(self._keys) else 0)

    def _split(self, at: int) -> None:
        keys, objects = self._keys[at], self._objects[at]
        self._keys[at : at + 1] = [keys[:_HALF], keys[_HALF:]]
        self._objects[at : at + 1] = [objects[:_HALF], objects[_HALF:]]
        self._lasts[at : at + 1] = [keys[_HALF - 1], keys[-1]]

    def __repr__(self) -> str:
        return f"<Snapshot of {self._size} objects in {len(self._lasts)} runs>"
