"""Which objects must be looked at when one of them changes."""

from __future__ import annotations

from proreus.api.finalizers import FOREGROUND
from proreus.client.discovery.api_resource import ApiResource
from proreus.cluster.controllers.garbage_collector.graph import (
    Graph,
    Node,
    OwnerReference,
)

MAPS = ApiResource(group="", version="v1", name="configmaps", kind="ConfigMap", namespaced=True)


def node(uid: str, *owners: str, deleting: bool = False, finalizers: str = "") -> Node:
    references = tuple(
        OwnerReference("v1", "ConfigMap", owner, owner, blocks=True) for owner in owners
    )
    held = frozenset(finalizers.split())
    return Node(MAPS, "default", uid, uid, references, deleting, held)


def test_a_dependent_of_an_unknown_owner_is_looked_at() -> None:
    assert Graph().put(node("child", "nobody")) == ["child"]


def test_a_dependent_of_a_living_owner_is_left_alone() -> None:
    graph = Graph()
    graph.put(node("owner"))
    assert graph.put(node("child", "owner")) == []


def test_when_an_owner_goes_its_dependents_are_looked_at() -> None:
    graph = Graph()
    graph.put(node("owner"))
    graph.put(node("child", "owner"))
    assert graph.remove("owner") == ["child"]


def test_an_owner_that_waits_is_looked_at_with_its_dependents_and_when_they_go() -> None:
    graph = Graph()
    graph.put(node("owner"))
    graph.put(node("child", "owner"))
    waiting = node("owner", deleting=True, finalizers=FOREGROUND)

    assert graph.put(waiting) == ["owner", "child"]
    assert graph.remove("child") == ["owner"]


def test_an_owner_that_was_given_up_no_longer_counts() -> None:
    graph = Graph()
    graph.put(node("owner"))
    graph.put(node("child", "owner"))
    graph.put(node("child"))

    assert graph.dependents("owner") == []
    assert graph.remove("owner") == []
