"""What the scheduler believes, before and after the server confirms it."""

from __future__ import annotations

from msgspec.structs import replace

from proreus.api.object import KubeObject
from proreus.cluster.scheduler.cluster_state import ClusterState
from proreus.cluster.scheduler.pod import PodView


def node(name: str) -> KubeObject:
    allocatable = {"cpu": "4", "memory": "8Gi", "pods": "10"}
    return KubeObject.from_dict(
        {"kind": "Node", "metadata": {"name": name}, "status": {"allocatable": allocatable}}
    )


def pod(name: str = "p") -> PodView:
    metadata = {"name": name, "namespace": "d", "uid": name}
    return PodView.read(
        KubeObject.from_dict({"kind": "Pod", "metadata": metadata, "spec": {"containers": []}})
    )


def pods_by_node(state: ClusterState) -> dict[str, list[str]]:
    return {found.name: sorted(found.pods) for found in state.nodes}


def test_an_assumed_pod_takes_room_until_it_is_forgotten() -> None:
    state = ClusterState()
    state.put_node(node("a"))

    state.assume(pod(), "a")
    assert pods_by_node(state) == {"a": ["p"]}

    assert state.forget("p")
    assert pods_by_node(state) == {"a": []}


def test_a_pod_that_the_server_confirmed_is_not_forgotten() -> None:
    state = ClusterState()
    for name in ("a", "b"):
        state.put_node(node(name))
    state.assume(pod(), "a")

    state.put_pod(replace(pod(), node_name="b"))  # somebody else was faster

    assert not state.forget("p")
    assert pods_by_node(state) == {"a": [], "b": ["p"]}
    assert "0 of them assumed" in repr(state)


def test_a_node_that_comes_back_still_has_its_pods() -> None:
    state = ClusterState()
    state.put_pod(replace(pod(), node_name="a"))  # pods may be known before their node
    assert state.nodes == []

    state.put_node(node("a"))
    state.remove_node("a")
    assert state.nodes == []

    state.put_node(node("a"))
    assert pods_by_node(state) == {"a": ["p"]}
    assert state.remove_pod("p")
    assert not state.remove_pod("p")


def test_what_was_assumed_of_another_state_of_the_pod_is_not_confirmed() -> None:
    state = ClusterState()
    state.put_node(node("a"))
    state.assume(replace(pod(), resource_version="7"), "a")

    assert not state.confirm(pod().uid, "8", "a")  # it was changed before it was bound
    assert not state.confirm(pod().uid, "7", "b")  # somebody else was faster
    assert state.confirm(pod().uid, "7", "a")
    assert not state.forget(pod().uid)  # what the server says stays
