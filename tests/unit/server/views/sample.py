"""What the tests of views show: resources, cached objects, a clock that stands still."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from proreus.aio.clock import Timer
from proreus.api.wire import splice
from proreus.server.kinds import builtin_resources
from proreus.server.resource import Resource
from proreus.server.watch_cache.object import CachedObject

NOW = 1_800_000_000.0  # 2027-01-15T08:00:00Z
MINUTE_AGO = "2027-01-15T07:59:00Z"


class StandingClock:
    def now(self) -> float:
        return NOW

    def monotonic(self) -> float:
        return 0.0

    def call_later(self, delay_s: float, callback: Callable[[], None]) -> Timer:
        raise NotImplementedError

    async def sleep(self, delay_s: float) -> None:
        raise NotImplementedError


def resource(plural: str, group: str = "", version: str = "v1") -> Resource:
    found = builtin_resources()
    return next(r for r in found if (r.group, r.version, r.plural) == (group, version, plural))


def cached(name: str, revision: int, body: dict[str, Any] | None = None) -> CachedObject:
    metadata = {"name": name, "namespace": "ns", "creationTimestamp": MINUTE_AGO}
    stored = splice.stored_from_object({"metadata": metadata, **(body or {})})
    item = splice.item_from_stored(stored, revision)
    return CachedObject(
        f"ns/{name}", revision, item, namespace="ns", name=name, labels={}, fields={}
    )
