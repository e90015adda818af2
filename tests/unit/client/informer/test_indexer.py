"""Indexer: objects by key and by named index, readable from any thread."""

from __future__ import annotations

import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proreus.api.object import KubeObject
from proreus.client.informer import Indexer, IndexExists, UnknownIndex
from tests.unit.client.informer.scripted import pod


def by_node(obj: KubeObject) -> list[str]:
    node = obj.labels.get("node")
    return [node] if node else []


def names(objects: list[KubeObject]) -> list[str]:
    return sorted(obj.name for obj in objects)


def filled(*objects: KubeObject) -> Indexer:
    indexer = Indexer({"node": by_node})
    for obj in objects:
        indexer.put(obj.key, obj)
    return indexer


def test_objects_are_found_by_key_and_by_index() -> None:
    indexer = filled(pod("a", 1, node="n1"), pod("b", 2, node="n2"), pod("c", 3, node="n1"))

    assert indexer.get("default/b") is not None
    assert names(indexer.by_index("node", "n1")) == ["a", "c"]
    assert indexer.keys_by_index("node", "n1") == ["default/a", "default/c"]
    assert names(indexer.by_index("namespace", "default")) == ["a", "b", "c"]
    assert indexer.by_index("node", "nowhere") == []


def test_an_update_moves_an_object_between_buckets_and_empty_ones_vanish() -> None:
    indexer = filled(pod("a", 1, node="n1"))

    old = indexer.put("default/a", pod("a", 2, node="n2"))

    assert old is not None and old.resource_version == "1"
    assert indexer.index_values("node") == ["n2"]
    assert [o.resource_version for o in indexer.by_index("node", "n2")] == ["2"]


def test_a_removed_object_is_in_no_index() -> None:
    indexer = filled(pod("a", 1, node="n1"), pod("b", 1, node="n1"))

    indexer.remove("default/a")
    missing = indexer.remove("default/a")

    assert missing is None
    assert names(indexer.by_index("node", "n1")) == ["b"]
    assert names(indexer.by_index("namespace", "default")) == ["b"]


def test_an_index_added_late_holds_what_was_there() -> None:
    indexer = filled(pod("a", 1, node="n1"))

    indexer.add_indexes({"name": lambda obj: [obj.name]})

    assert names(indexer.by_index("name", "a")) == ["a"]


def test_adding_an_index_that_exists_adds_none() -> None:
    indexer = filled()

    with pytest.raises(IndexExists, match="already indexed by node"):
        indexer.add_indexes({"fresh": by_node, "node": by_node})

    assert "fresh" not in indexer.index_names()


def test_asking_for_an_unknown_index_is_an_error_that_names_the_known_ones() -> None:
    with pytest.raises(UnknownIndex, match="no index 'owner', only namespace, node"):
        filled().by_index("owner", "x")


def test_an_object_that_an_index_function_cannot_read_is_still_found_by_key(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def broken(obj: KubeObject) -> list[str]:
        raise ValueError("unreadable")

    indexer = Indexer({"broken": broken})
    indexer.put("default/a", pod("a", 1))

    assert indexer.get("default/a") is not None
    assert indexer.index_values("broken") == []
    assert "index function broken" in caplog.text


@given(
    st.lists(st.tuples(st.sampled_from("abcd"), st.sampled_from(["n1", "n2", "", "gone"]))),
)
def test_indexes_always_agree_with_the_objects(steps: list[tuple[str, str]]) -> None:
    indexer = Indexer({"node": by_node})

    for name, node in steps:
        if node == "gone":
            indexer.remove(f"default/{name}")
        else:
            indexer.put(f"default/{name}", pod(name, 1, **({"node": node} if node else {})))

    for node in ("n1", "n2"):
        expected = [obj for obj in indexer.objects() if obj.labels.get("node") == node]
        assert names(indexer.by_index("node", node)) == names(expected)
    assert set(indexer.index_values("node")) == {
        obj.labels["node"] for obj in indexer.objects() if "node" in obj.labels
    }


def test_readers_on_other_threads_always_see_whole_objects_and_whole_answers() -> None:
    """Every pod is on exactly one node at a time, so no answer may hold more pods than there are,
    and none may miss the pods that never move."""
    still = [pod(f"still-{i}", 1, node="n1") for i in range(50)]
    indexer = filled(*still)
    wrong: list[object] = []
    done = threading.Event()

    def read() -> None:
        while not done.is_set():
            found = indexer.by_index("node", "n1")
            if not 50 <= len(found) <= 100 or any(o.labels["node"] != "n1" for o in found):
                wrong.append(found)
            if any(obj is None for obj in indexer.objects()):
                wrong.append("a hole")

    readers = [threading.Thread(target=read) for _ in range(2)]
    for reader in readers:
        reader.start()
    for version in range(40):
        for i in range(50):
            moved = pod(f"moves-{i}", version, node=f"n{1 + version % 2}")
            indexer.put(moved.key, moved)
    done.set()
    for reader in readers:
        reader.join()

    assert not wrong
