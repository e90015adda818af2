"""Any view of events in another format: what its JSON says, encoded anew.

Cost: decoding and encoding per event, once for all watchers of a view.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

from proreus.server.watch_cache.object import CachedObject
from proreus.server.watch_cache.view import EncodingView


class TranscodedView(ABC):
    """``view`` is one of JSON."""

    __slots__ = ("_view",)

    def __init__(self, view: EncodingView) -> None:
        self._view = view

    @staticmethod
    @abstractmethod
    def frame(line: bytes) -> bytes:
        """An event of ``view``, as it is sent."""

    def event(self, event_type: str, obj: CachedObject) -> bytes:
        return self.frame(self._view.event(event_type, obj))

    def first_event(self, event_type: str, obj: CachedObject) -> bytes:
        return self.frame(self._view.first_event(event_type, obj))

    def bookmark(self, revision: int, *, initial_events_end: bool) -> bytes:
        return self.frame(self._view.bookmark(revision, initial_events_end=initial_events_end))

    def first_bookmark(self, revision: int, *, initial_events_end: bool) -> bytes:
        first = self._view.first_bookmark(revision, initial_events_end=initial_events_end)
        return self.frame(first)

    def error(self, status: Mapping[str, Any]) -> bytes:
        return self.frame(self._view.error(status))

    def __eq__(self, other: Any) -> bool:
        return type(other) is type(self) and other._view == self._view

    def __hash__(self) -> int:
        return hash((type(self), self._view))

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self._view!r}>"
