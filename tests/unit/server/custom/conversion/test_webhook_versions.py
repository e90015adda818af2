"""What is remembered of converted objects: each state once, no more bytes than allowed."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from proreus.server.custom.conversion.webhook_versions import Kept
from proreus.server.watch_cache.object import CachedObject


def obj(name: str, revision: int, size: int = 10) -> CachedObject:
    return CachedObject(name, revision, bytes(size), namespace="", name=name, labels={}, fields={})


def test_another_state_under_the_same_revision_is_another_object() -> None:
    kept = Kept(1000)
    kept.put(obj("a", 1), obj("a", 1))

    assert kept.get(obj("a", 1)) is not None
    assert kept.get(obj("a", 2)) is None
    assert kept.get(replace(obj("a", 1), item=b"set back to another")) is None


def test_the_least_used_is_forgotten_first() -> None:
    kept = Kept(30)
    for name in "abc":
        kept.put(obj(name, 1), obj(name, 1))

    kept.get(obj("a", 1))
    kept.put(obj("d", 1), obj("d", 1))

    assert [name for name in "abcd" if kept.get(obj(name, 1))] == ["a", "c", "d"]


@given(st.lists(st.tuples(st.sampled_from("abcd"), st.integers(1, 3), st.integers(0, 60))))
def test_it_never_holds_more_than_allowed(puts: list[tuple[str, int, int]]) -> None:
    kept = Kept(100)

    for name, revision, size in puts:
        kept.put(obj(name, revision), obj(name, revision, size))

    held = sum(len(found.item) for found in kept._objects.values())
    assert held == kept._bytes <= 100
