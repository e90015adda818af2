"""When recent revisions reached a stop of their way: kept per batch, read when somebody asks.

Cost: one append per batch of changes, however many there are in it; nothing is looked up before
somebody debugs.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import deque


class RevisionTimes:
    """``record`` a revision: it and all before it had arrived then. The oldest are forgotten; a
    store that was put back to an older state begins anew."""

    __slots__ = ("_moments",)

    def __init__(self, kept: int = 1024) -> None:
        self._moments: deque[tuple[int, float]] = deque(maxlen=kept)

    def record(self, revision: int, at_s: float) -> None:
        moments = self._moments
        if moments and revision < moments[-1][0]:
            moments.clear()
        moments.append((revision, at_s))

    def at(self, revision: int) -> float | None:
        """When it had arrived; None if it has not, or is older than what is remembered."""
        moments = list(self._moments)
        found = bisect_left(moments, (revision, 0.0))
        if found == len(moments) or (found == 0 and len(moments) == self._moments.maxlen):
            return None
        return moments[found][1]

    def __repr__(self) -> str:
        return f"<RevisionTimes: {len(self._moments)} moments>"
