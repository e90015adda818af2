"""What an authorizer knows follows the watch cache, whatever is stored there."""

from __future__ import annotations

from structlog.testing import capture_logs

from proreus.server.watch_cache.cache_follower import CacheFollower
from proreus.server.watch_cache.object import CachedObject


def follower(known: list[str]) -> CacheFollower:
    def insert(found: CachedObject) -> None:
        if found.name == "broken":
            raise KeyError("spec")
        known.append(found.name)

    return CacheFollower(
        clear=known.clear,
        insert=insert,
        removed=lambda found: known.remove(found.name) if found.name in known else None,
        unreadable="object is unreadable",
    )


def cached(name: str) -> CachedObject:
    return CachedObject(name, 1, b"{}", namespace="", name=name, labels={}, fields={})


def test_what_was_known_before_a_reload_is_forgotten() -> None:
    known = ["gone"]

    follower(known).loaded([cached("a"), cached("b")])

    assert known == ["a", "b"]


def test_an_object_that_cannot_be_read_is_logged_and_grants_nothing() -> None:
    known = ["broken"]

    with capture_logs() as logs:
        follower(known).put(cached("broken"))

    assert known == []
    assert [(entry["log_level"], entry["event"]) for entry in logs] == [
        ("error", "object is unreadable")
    ]
