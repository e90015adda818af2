"""Which pods nobody will ever finish."""

from __future__ import annotations

from typing import Any

from proreus.api.object import KubeObject
from proreus.cluster.controllers.pod_garbage_collector import (
    Quarantine,
    beyond_limit,
    of_nodes,
    unplaced,
)


def pod(name: str, *, node: str = "", phase: str = "Running", **metadata: Any) -> KubeObject:
    return KubeObject.from_dict(
        {
            "metadata": {"name": name, **metadata},
            "spec": {"nodeName": node} if node else {},
            "status": {"phase": phase},
        }
    )


def test_deleted_pods_without_a_node_go() -> None:
    going = {"deletionTimestamp": "2026-01-01T00:00:00Z"}
    pods = [pod("a", **going), pod("b", node="n1", **going), pod("c")]
    assert [one.name for one in unplaced(pods)] == ["a"]


def test_pods_of_nodes_that_are_gone_go() -> None:
    pods = [pod("a", node="n1"), pod("b", node="n2"), pod("c")]
    assert [one.name for one in of_nodes(pods, {"n1"})] == ["a"]


def test_the_oldest_finished_pods_beyond_the_limit_go() -> None:
    pods = [
        pod(str(n), phase="Succeeded", creationTimestamp=f"2026-01-0{n}T00:00:00Z")
        for n in (3, 1, 2)
    ]
    assert [one.name for one in beyond_limit([*pods, pod("x")], 1)] == ["1", "2"]
    assert beyond_limit(pods, 0) == [], "no limit"


def test_a_node_must_be_missing_for_a_while_without_a_break() -> None:
    quarantine = Quarantine(40)
    assert quarantine.missing({"n1", ""}, {"n2"}, 0) == []
    assert quarantine.missing({"n1"}, {"n1"}, 20) == []
    assert quarantine.missing({"n1"}, set(), 30) == []
    assert quarantine.missing({"n1"}, set(), 70) == ["n1"]
