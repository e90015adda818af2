"""Keeps ``Fairness`` equal to the watch caches of schemas and levels, change by change."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Generic, TypeVar

from proreus.api.json_types import Json
from proreus.api.wire import splice
from proreus.server.fairness.fairness import Fairness
from proreus.server.fairness.flow_schemas import FlowSchema
from proreus.server.fairness.priority_level import PriorityLevel
from proreus.server.kinds.parts.flow_control import GROUP
from proreus.server.registry.collections import Collections
from proreus.server.watch_cache.cache import WatchCache
from proreus.server.watch_cache.cache_follower import CacheFollower
from proreus.server.watch_cache.object import CachedObject

_UNREADABLE = "flow schema or priority level is unreadable and has no effect"
T = TypeVar("T")


class _Followed(Generic[T]):
    """What the objects of one kind say, by name. ``use`` is given all of it when it has changed."""

    def __init__(
        self,
        read: Callable[[Json], T],
        use: Callable[[Iterable[T]], None],
        changed: Callable[[], None],
    ) -> None:
        self._read = read
        self._use = use
        self._changed = changed
        self._by_name: dict[str, T] = {}

    def follow(self, cache: WatchCache) -> None:
        cache.follow(CacheFollower(self._by_name.clear, self._put, self._remove, _UNREADABLE))

    def _put(self, found: CachedObject) -> None:
        value = self._read(splice.decode_item(found.item))
        if self._by_name.get(found.name) != value:  # the object's status may have changed alone
            self._by_name[found.name] = value
            self._use(self._by_name.values())
        self._changed()

    def _remove(self, found: CachedObject) -> None:
        self._by_name.pop(found.name, None)
        self._use(self._by_name.values())
        self._changed()


def follow_flow_control(
    fairness: Fairness, collections: Collections, changed: Callable[[], None]
) -> None:
    """From now on ``fairness`` has what the caches have; ``changed`` is called after a change."""
    schemas = _Followed(FlowSchema.of, fairness.set_schemas, changed)
    schemas.follow(collections.named(GROUP, "v1", "flowschemas").cache)
    levels = _Followed(PriorityLevel.of, fairness.set_levels, changed)
    levels.follow(collections.named(GROUP, "v1", "prioritylevelconfigurations").cache)
