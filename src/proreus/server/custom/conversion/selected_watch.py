"""Selectors of a watch on converted objects: pure, one per watch.

Selectors apply to the served version, so the watch cache cannot evaluate them: it knows objects
only as they are stored. What the watcher knows to match is remembered, as it was when it last did.
"""

from __future__ import annotations

from collections.abc import Iterable

from proreus.server.watch_cache.object import CachedObject
from proreus.server.watch_cache.selecting import Matches
from proreus.server.watch_cache.view import ADDED, DELETED, MODIFIED


class SelectedEvents:
    """``present``: what matched in the state the watch goes on from."""

    def __init__(self, matches: Matches, present: Iterable[CachedObject] = ()) -> None:
        self._matches = matches
        self._present = {obj.key: obj for obj in present if matches(obj)}

    def event(self, event_type: str, obj: CachedObject) -> tuple[str, CachedObject] | None:
        """What a change means here (server.md §3.4); None if nothing."""
        before = self._present.pop(obj.key, None)
        if event_type != DELETED and self._matches(obj):
            self._present[obj.key] = obj
            return (ADDED if before is None else MODIFIED), obj
        if before is None:
            return None
        return DELETED, obj if event_type == DELETED else before.at_revision(obj.revision)
