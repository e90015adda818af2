"""A set of strings in ascending order: insertion and removal cost O(√n), reading is in order.

Python's order of strings (by code point) is the order of their UTF-8 bytes, which is what a
``Page`` promises. Kept in short sorted runs, so that adding a key moves a thousand pointers at
most, not a hundred thousand.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable, Iterator

_RUN_MAX = 2000


class SortedKeys:
    """Distinct keys in ascending order. ``add`` and ``remove`` expect absence and presence."""

    def __init__(self, keys: Iterable[str] = ()) -> None:
        ordered = sorted(keys)
        half = _RUN_MAX // 2
        self._runs = [ordered[i : i + half] for i in range(0, len(ordered), half)] or [[]]
        self._lasts = [run[-1] for run in self._runs if run]
        self._size = len(ordered)

    def __len__(self) -> int:
        return self._size

    def add(self, key: str) -> None:
        at = min(bisect_left(self._lasts, key), len(self._runs) - 1)
        run = self._runs[at]
        insort(run, key)
        self._size += 1
        self._lasts[at : at + 1] = [run[-1]]
        if len(run) > _RUN_MAX:
            half = _RUN_MAX // 2
            self._runs[at : at + 1] = [run[:half], run[half:]]
            self._lasts[at : at + 1] = [run[half - 1], run[-1]]

    def remove(self, key: str) -> None:
        at = bisect_left(self._lasts, key)
        run = self._runs[at]
        del run[bisect_left(run, key)]
        self._size -= 1
        if run:
            self._lasts[at] = run[-1]
        elif len(self._runs) > 1:
            del self._runs[at], self._lasts[at]
        else:
            self._lasts.clear()

    def copy(self) -> SortedKeys:
        made = SortedKeys()
        made._runs = [run.copy() for run in self._runs]
        made._lasts, made._size = self._lasts.copy(), self._size
        return made

    def between(self, start: str, end: str) -> Iterator[str]:
        """Keys with ``start <= key < end``. The set must not change meanwhile."""
        for at in range(bisect_left(self._lasts, start), len(self._lasts)):
            run = self._runs[at]
            first = bisect_left(run, start) if run[0] < start else 0
            if run[-1] >= end:
                yield from run[first : bisect_left(run, end)]
                return
            yield from run[first:] if first else run

    def count(self, start: str, end: str) -> int:
        """How many keys ``between`` would give; O(√n)."""
        return max(0, self._rank(end) - self._rank(start))

    def _rank(self, key: str) -> int:
        at = bisect_left(self._lasts, key)
        before = sum(map(len, self._runs[:at]))
        return before + (bisect_left(self._runs[at], key) if at < len(self._runs) else 0)

    def __repr__(self) -> str:
        return f"<SortedKeys: {self._size} keys in {len(self._lasts)} runs>"
