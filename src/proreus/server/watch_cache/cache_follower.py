"""Keeps what another part knows of one kind equal to that kind's watch cache, change by change."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import structlog

from proreus.lazy_dataclass import dataclass
from proreus.server.watch_cache.object import CachedObject

_log = structlog.get_logger(__name__)
UNREADABLE = (
    TypeError,
    AttributeError,
    ValueError,
    KeyError,
)  # raised by reading what is no object


@dataclass(frozen=True, slots=True)
class CacheFollower:
    """Another program may have stored anything: an object that ``insert`` cannot read is treated
    as removed, and logged with what that means (``unreadable``)."""

    clear: Callable[[], None]
    insert: Callable[[CachedObject], None]
    removed: Callable[[CachedObject], None]
    unreadable: str

    def loaded(self, objects: Sequence[CachedObject]) -> None:
        self.clear()
        for found in objects:
            self.put(found)

    def put(self, found: CachedObject) -> None:
        try:
            self.insert(found)
        except UNREADABLE as why:
            self.removed(found)
            _log.error(self.unreadable, key=found.key, why=why)
