"""Where a pod goes, and what is reported when it goes nowhere."""

from __future__ import annotations

import random
from typing import Any

import pytest

from proreus.api.object import KubeObject
from proreus.cluster.scheduler.cycle import Cycle, Placed, Unschedulable, nodes_to_find
from proreus.cluster.scheduler.node import NodeState
from proreus.cluster.scheduler.pod import PodView


def node(name: str, *, cpu: str = "4", pods: str = "110", **spec: Any) -> NodeState:
    labels = {"kubernetes.io/hostname": name, **spec.pop("labels", {})}
    state = NodeState(name)
    state.update(
        KubeObject.from_dict(
            {
                "apiVersion": "v1",
                "kind": "Node",
                "metadata": {"name": name, "labels": labels},
                "spec": spec,
                "status": {"allocatable": {"cpu": cpu, "memory": "8Gi", "pods": pods}},
            }
        )
    )
    return state


def pod(name: str = "p", *, cpu: str = "", owner: str = "", **spec: Any) -> PodView:
    container: dict[str, Any] = {"name": "c", "ports": spec.pop("ports", [])}
    if cpu:
        container["resources"] = {"requests": {"cpu": cpu}}
    owners = [{"uid": owner, "controller": True}] if owner else []
    return PodView.read(
        KubeObject.from_dict(
            {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {
                    "name": name,
                    "namespace": "d",
                    "uid": name,
                    "ownerReferences": owners,
                },
                "spec": {"containers": [container], **spec},
            }
        )
    )


def decide(wanted: PodView, *nodes: NodeState) -> Placed | Unschedulable:
    return Cycle(random.Random(1)).decide(wanted, nodes)


def test_a_pod_goes_where_its_request_fits() -> None:
    assert decide(pod(cpu="3"), node("small", cpu="2"), node("large")) == Placed("large")


def test_pods_already_placed_count() -> None:
    full = node("full")
    full.add(pod("other", cpu="3500m"))

    assert decide(pod(cpu="1"), full, node("free")) == Placed("free")

    full.remove("other")
    assert decide(pod(cpu="4"), full) == Placed("full")


def test_every_reason_is_counted_in_the_message() -> None:
    taint = {"key": "dedicated", "value": "db", "effect": "NoSchedule"}

    refused = decide(
        pod(cpu="3"), node("a", cpu="1"), node("b", cpu="1"), node("c", taints=[taint])
    )

    assert refused == Unschedulable(
        "0/3 nodes are available: 1 node(s) had untolerated taint(s), 2 Insufficient cpu."
    )


def test_no_nodes_is_said_plainly() -> None:
    assert decide(pod()) == Unschedulable("no nodes available to schedule pods")


@pytest.mark.parametrize(
    "toleration",
    [
        {"key": "dedicated", "operator": "Equal", "value": "db", "effect": "NoSchedule"},
        {"key": "dedicated", "operator": "Exists"},
        {"operator": "Exists"},
    ],
)
def test_a_tolerated_taint_does_not_keep_a_pod_away(toleration: dict[str, str]) -> None:
    tainted = node("a", taints=[{"key": "dedicated", "value": "db", "effect": "NoSchedule"}])

    assert decide(pod(tolerations=[toleration]), tainted) == Placed("a")


def test_a_cordoned_node_takes_no_pods() -> None:
    assert decide(pod(), node("a", unschedulable=True), node("b")) == Placed("b")


def test_a_node_selector_and_required_affinity_must_both_hold() -> None:
    term = {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["z1", "z2"]}]}
    affinity = {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}
        }
    }
    wanted = pod(nodeSelector={"disk": "ssd"}, affinity=affinity)
    nodes = [
        node("a", labels={"disk": "ssd", "zone": "z3"}),
        node("b", labels={"disk": "hdd", "zone": "z1"}),
        node("c", labels={"disk": "ssd", "zone": "z2"}),
    ]

    assert decide(wanted, *nodes) == Placed("c")


def test_two_pods_do_not_share_a_host_port() -> None:
    taken = node("a")
    taken.add(pod("other", ports=[{"containerPort": 80, "hostPort": 80}]))
    wanted = pod(ports=[{"containerPort": 8080, "hostPort": 80, "hostIP": "127.0.0.1"}])

    assert decide(wanted, taken, node("b")) == Placed("b")


@pytest.mark.parametrize(("policy", "expected"), [("Always", "b"), (None, "a")])
def test_of_init_containers_only_a_sidecar_holds_its_host_port(
    policy: str | None, expected: str
) -> None:
    taken = node("a", cpu="8")
    port = [{"containerPort": 80, "hostPort": 80}]
    taken.add(pod("other", initContainers=[{"name": "i", "ports": port, "restartPolicy": policy}]))

    assert decide(pod(cpu="1", ports=port), taken, node("b", cpu="2")) == Placed(expected)


def test_a_full_node_takes_no_more_pods() -> None:
    full = node("a", pods="1")
    full.add(pod("other"))

    refused = decide(pod(), full)

    assert refused == Unschedulable("0/1 nodes are available: 1 Too many pods.")


def test_pods_of_one_owner_are_spread() -> None:
    nodes = [node(name) for name in "abc"]
    cycle = Cycle(random.Random(3))
    placed = []
    for i in range(6):
        wanted = pod(f"p{i}", owner="rs")
        decision = cycle.decide(wanted, nodes)
        assert isinstance(decision, Placed)
        next(n for n in nodes if n.name == decision.node).add(wanted)
        placed.append(decision.node)

    assert sorted(placed) == ["a", "a", "b", "b", "c", "c"]


def test_preferred_affinity_wins_among_equal_nodes() -> None:
    preference = {"matchExpressions": [{"key": "disk", "operator": "Exists"}]}
    affinity = {
        "nodeAffinity": {
            "preferredDuringSchedulingIgnoredDuringExecution": [
                {"weight": 10, "preference": preference}
            ]
        }
    }

    chosen = decide(pod(affinity=affinity), node("a"), node("b", labels={"disk": "ssd"}))

    assert chosen == Placed("b")


@pytest.mark.parametrize(("count", "enough"), [(5, 5), (99, 99), (150, 100), (1000, 420)])
def test_of_many_nodes_only_a_share_is_examined(count: int, enough: int) -> None:
    assert nodes_to_find(count) == enough
