"""Where a pod goes because of where others are: spread, affinity, anti-affinity."""

from __future__ import annotations

import random
from typing import Any

import msgspec
import pytest

from proreus.api.object import KubeObject
from proreus.cluster.scheduler.cycle import Cycle, Placed, Unschedulable
from proreus.cluster.scheduler.node import NodeState
from proreus.cluster.scheduler.pod import PodView

ZONE = "topology.kubernetes.io/zone"
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def node(name: str, zone: str, *pods: PodView, **spec: Any) -> NodeState:
    state = NodeState(name)
    content = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {ZONE: zone, "zoned": zone} if zone else {}},
        "spec": spec,
        "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "110"}},
    }
    state.update(KubeObject.from_dict(content))
    for pod_here in pods:
        state.add(pod_here)
    return state


def pod(name: str, app: str = "web", namespace: str = "d", **spec: Any) -> PodView:
    metadata = {"name": name, "namespace": namespace, "uid": name, "labels": {"app": app}}
    content = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata}
    return PodView.read(
        KubeObject.from_dict({**content, "spec": {"containers": [{"name": "c"}], **spec}})
    )


def spread(skew: int = 1, **more: Any) -> list[dict[str, Any]]:
    selector = {"matchLabels": {"app": "web"}}
    return [{"topologyKey": ZONE, "maxSkew": skew, "labelSelector": selector, **more}]


def term(app: str) -> dict[str, Any]:
    selector = {"matchLabels": {"app": app}}
    return {REQUIRED: [{"topologyKey": ZONE, "labelSelector": selector}]}


def decide(wanted: PodView, *nodes: NodeState) -> Placed | Unschedulable:
    return Cycle(random.Random(1)).decide(wanted, nodes)


def test_a_spread_pod_goes_to_the_emptier_zone() -> None:
    full, empty = node("a", "1", pod("p1")), node("b", "2")

    assert decide(pod("new", topologySpreadConstraints=spread()), full, empty) == Placed("b")


def test_pods_of_other_apps_and_namespaces_do_not_count_for_the_spread() -> None:
    busy = node("a", "1", pod("p1", app="db"), pod("p2", namespace="other"), pod("p3", app="db"))
    one = node("b", "2", pod("p4"))

    assert decide(pod("new", topologySpreadConstraints=spread()), busy, one) == Placed("a")


def test_a_spread_that_cannot_be_kept_refuses_and_one_that_is_a_wish_does_not() -> None:
    full, nowhere = node("a", "1", pod("p1")), node("b", "")
    soft = spread(whenUnsatisfiable="ScheduleAnyway")

    refused = decide(pod("new", topologySpreadConstraints=spread(minDomains=2)), full, nowhere)

    assert refused == Unschedulable(
        "0/2 nodes are available: 1 node(s) didn't match pod topology spread constraints, "
        "1 node(s) didn't match pod topology spread constraints (missing required label)."
    )
    assert isinstance(decide(pod("new", topologySpreadConstraints=soft), full), Placed)


def test_a_pod_goes_where_its_company_is() -> None:
    wanted = pod("new", affinity={"podAffinity": term("db")})

    assert decide(wanted, node("a", "1"), node("b", "2", pod("p", app="db"))) == Placed("b")
    assert decide(wanted, node("a", "1")) == Unschedulable(
        "0/1 nodes are available: 1 node(s) didn't match pod affinity rules."
    )


def test_the_first_of_a_group_that_wants_to_be_together_goes_anywhere() -> None:
    wanted = pod("new", affinity={"podAffinity": term("web")})

    assert decide(wanted, node("a", "1")) == Placed("a")


def test_pods_that_repel_each_other_are_kept_apart_in_both_directions() -> None:
    lonely = pod("lonely", app="db", affinity={"podAntiAffinity": term("web")})

    assert decide(lonely, node("a", "1", pod("p")), node("b", "2")) == Placed("b")
    assert decide(pod("new"), node("a", "1", lonely), node("b", "2")) == Placed("b")
    assert decide(pod("new"), node("a", "1", lonely)) == Unschedulable(
        "0/1 nodes are available: 1 node(s) didn't satisfy existing pods anti-affinity rules."
    )


def test_a_repelling_pod_that_left_repels_nobody() -> None:
    lonely = pod("lonely", app="db", affinity={"podAntiAffinity": term("web")})
    place = node("a", "1", lonely)
    place.remove("lonely")

    assert decide(pod("new"), place) == Placed("a")


def test_a_selector_that_cannot_be_read_costs_only_its_own_pod() -> None:
    broken = {"matchExpressions": [{"key": "app", "operator": "Resembles"}]}
    terms = {REQUIRED: [{"topologyKey": ZONE, "labelSelector": broken}]}

    assert decide(pod("new", affinity={"podAffinity": terms}), node("a", "1")) == Unschedulable(
        '"Resembles" is not a valid label selector operator'
    )


def preferring(kind: str, app: str, weight: int = 10) -> dict[str, Any]:
    selected = {"labelSelector": {"matchLabels": {"app": app}}, "topologyKey": ZONE}
    preferred = [{"weight": weight, "podAffinityTerm": selected}]
    return {kind: {"preferredDuringSchedulingIgnoredDuringExecution": preferred}}


def chosen(wanted: PodView, *nodes: NodeState) -> str:
    decision = Cycle(random.Random(1)).decide(wanted, nodes)
    assert isinstance(decision, Placed)
    return decision.node


def test_a_pod_prefers_the_company_it_likes() -> None:
    near = [node("a", "z1", pod("db", "db")), node("b", "z2")]

    assert chosen(pod("p", affinity=preferring("podAffinity", "db")), *near) == "a"
    assert chosen(pod("p", affinity=preferring("podAntiAffinity", "db")), *near) == "b"


def test_a_pod_that_is_there_has_preferences_about_the_one_that_comes() -> None:
    picky = pod("picky", "db", affinity=preferring("podAntiAffinity", "web"))

    assert chosen(pod("p"), node("a", "z1", picky), node("b", "z2")) == "b"


def going(name: str) -> PodView:
    return msgspec.structs.replace(pod(name), is_deleting=True)


def test_pods_on_their_way_out_do_not_count_for_the_spread() -> None:
    full, one = node("a", "z1", going("x"), going("y")), node("b", "z2", pod("z"))

    assert decide(pod("new", topologySpreadConstraints=spread()), full, one) == Placed("a")


@pytest.mark.parametrize(("policy", "fits"), [("Honor", True), (None, True), ("Ignore", False)])
def test_nodes_that_a_pod_does_not_want_count_for_its_spread_only_if_it_says_so(
    policy: str | None, fits: bool
) -> None:
    """The other zone is empty, but the pod may not go there."""
    wanted = pod(
        "new",
        nodeSelector={"zoned": "z1"},
        topologySpreadConstraints=spread(nodeAffinityPolicy=policy),
    )

    found = decide(wanted, node("a", "z1", pod("x")), node("b", "z2"))

    assert isinstance(found, Placed) == fits


@pytest.mark.parametrize(("policy", "fits"), [("Honor", True), (None, False), ("Ignore", False)])
def test_nodes_with_taints_count_for_a_spread_unless_it_says_otherwise(
    policy: str | None, fits: bool
) -> None:
    tainted = node("b", "z2", taints=[{"key": "k", "effect": "NoSchedule"}])
    wanted = pod("new", topologySpreadConstraints=spread(nodeTaintsPolicy=policy))

    assert isinstance(decide(wanted, node("a", "z1", pod("x")), tainted), Placed) == fits


def test_a_node_counts_for_a_spread_only_if_it_has_the_keys_of_all() -> None:
    """The other zone has no node with a rack."""
    racked, bare = node("a", "z1", pod("x")), node("b", "z2")
    racked.labels = {**racked.labels, "rack": "r1"}
    both = [*spread(), {**spread(skew=5)[0], "topologyKey": "rack"}]

    assert decide(pod("new", topologySpreadConstraints=both), racked, bare) == Placed("a")


def test_a_wish_to_be_spread_is_a_preference() -> None:
    wish = spread(whenUnsatisfiable="ScheduleAnyway")
    crowded = [node("a", "z1", pod("1"), pod("2")), node("b", "z2", pod("3"))]

    assert chosen(pod("p", topologySpreadConstraints=wish), *crowded) == "b"
    # All that is left is better than nothing.
    assert chosen(pod("p", topologySpreadConstraints=wish), crowded[0]) == "a"


def test_everything_that_a_node_lacks_is_said() -> None:
    requests = {"cpu": "9", "memory": "99Gi"}
    hungry = {"containers": [{"name": "c", "resources": {"requests": requests}}]}
    metadata = {"name": "p", "namespace": "d", "uid": "p"}
    wanted = PodView.read(KubeObject.from_dict({"metadata": metadata, "spec": hungry}))

    assert Cycle(random.Random(1)).decide(wanted, [node("a", "z1"), node("b", "z2")]) == (
        Unschedulable("0/2 nodes are available: 2 Insufficient cpu, 2 Insufficient memory.")
    )
