"""Who must go so that a more important pod can run."""

from __future__ import annotations

import random
from typing import Any

from proreus.api.object import KubeObject
from proreus.api.selectors.labels import LabelSelector
from proreus.cluster.scheduler.cluster_state import ClusterState
from proreus.cluster.scheduler.cycle import Cycle, Placed, Unschedulable
from proreus.cluster.scheduler.disruption_budget import DisruptionBudget
from proreus.cluster.scheduler.node import NodeState
from proreus.cluster.scheduler.pod import PodView
from proreus.cluster.scheduler.preemption import (
    NoPreemption,
    Preemption,
    is_waiting_for_victims,
    preempt,
)


def pod(name: str, priority: int = 0, *, cpu: str = "1", **more: Any) -> PodView:
    metadata = {"name": name, "namespace": "d", "uid": name, "labels": {"app": name[0]}}
    if more.pop("going", False):
        metadata["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    status = {"startTime": more.pop("started", "2026-01-01T00:00:00Z")}
    container = {"name": "c", "resources": {"requests": {"cpu": cpu}}}
    spec = {"containers": [container], "priority": priority, **more}
    content = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata}
    return PodView.read(KubeObject.from_dict({**content, "spec": spec, "status": status}))


def node(name: str, *pods: PodView, cpu: str = "2", **spec: Any) -> NodeState:
    state = NodeState(name)
    status = {"allocatable": {"cpu": cpu, "memory": "8Gi", "pods": "110"}}
    content = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}}
    state.update(KubeObject.from_dict({**content, "spec": spec, "status": status}))
    for here in pods:
        state.add(here)
    return state


def room(
    wanted: PodView, *nodes: NodeState, budgets: tuple[DisruptionBudget, ...] = ()
) -> Preemption | NoPreemption:
    decision = Cycle(random.Random(1)).decide(wanted, nodes)
    assert isinstance(decision, Unschedulable)
    return preempt(wanted, nodes, decision.refusals, budgets)


def victims(made: Preemption | NoPreemption) -> tuple[str, set[str]]:
    assert isinstance(made, Preemption), made
    return made.node, {victim.name for victim in made.victims}


def test_less_important_pods_make_room() -> None:
    made = room(pod("new", 10), node("a", pod("x"), pod("y")))

    assert len(victims(made)[1]) == 1


def test_only_as_many_go_as_must_and_the_least_important() -> None:
    full = node("a", pod("x", 5), pod("y", 1), pod("z", 3), cpu="3")

    assert victims(room(pod("new", 10), full)) == ("a", {"y"})
    assert victims(room(pod("new", 10, cpu="2"), full)) == ("a", {"y", "z"})


def test_pods_as_important_stay() -> None:
    made = room(pod("new", 10), node("a", pod("x", 10), pod("y", 10)))

    assert made == NoPreemption(
        "preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod."
    )


def test_a_node_that_refuses_for_good_is_left_alone() -> None:
    taint = {"key": "gpu", "value": "yes", "effect": "NoSchedule"}
    tainted, small = node("a", pod("x"), taints=[taint]), node("b", cpu="1")
    wanted = pod("new", 10, cpu="2")

    assert Cycle(random.Random(1)).decide(wanted, [tainted, small]) == Unschedulable(
        "0/2 nodes are available: 1 Insufficient cpu, 1 node(s) had untolerated taint(s)."
    )
    assert room(wanted, tainted, small) == NoPreemption(
        "preemption: 0/2 nodes are available: 2 Preemption is not helpful for scheduling."
    )


def test_nobody_makes_room_on_a_node_that_is_too_small_when_it_is_empty() -> None:
    small, large = node("a", pod("x"), cpu="1"), node("b", pod("y", 10, cpu="3"), cpu="3")

    assert room(pod("new", 10, cpu="2"), small, large) == NoPreemption(
        "preemption: 0/2 nodes are available: 1 No preemption victims found for incoming pod, "
        "1 Preemption is not helpful for scheduling."
    )


def test_the_node_is_taken_where_the_victims_matter_least() -> None:
    costly, cheap = node("a", pod("x", 5), cpu="1"), node("b", pod("y", 1), cpu="1")

    assert victims(room(pod("new", 10), costly, cheap)) == ("b", {"y"})


def test_fewer_victims_are_better_and_then_younger_ones() -> None:
    two = node("a", pod("x", cpu="500m"), pod("y", cpu="500m"), cpu="1")
    old = node("b", pod("z", started="2026-01-01T00:00:00Z"), cpu="1")
    young = node("c", pod("w", started="2026-02-01T00:00:00Z"), cpu="1")

    assert victims(room(pod("new", 10), two, old, young)) == ("c", {"w"})


def test_budgets_are_kept_if_that_is_possible() -> None:
    guarded = DisruptionBudget("d", LabelSelector.from_object({"matchLabels": {"app": "x"}}), 0)

    assert victims(
        room(pod("new", 10), node("a", pod("x", 0), pod("y", 5)), budgets=(guarded,))
    ) == ("a", {"y"})
    made = room(pod("new", 10, cpu="2"), node("a", pod("x"), pod("y")), budgets=(guarded,))
    assert isinstance(made, Preemption)
    assert made.broken_budgets == 1


def test_a_pod_that_will_not_preempt_says_so() -> None:
    made = room(pod("new", 10, preemptionPolicy="Never"), node("a", pod("x"), pod("y")))

    assert made == NoPreemption("preemption: not eligible due to preemptionPolicy=Never.")


def test_room_that_is_being_made_is_not_given_to_others() -> None:
    state = ClusterState()
    content = {"metadata": {"name": "a"}, "status": {"allocatable": {"cpu": "1", "pods": "9"}}}
    state.put_node(KubeObject.from_dict(content))
    important = pod("important", 10)
    state.nominate(important, "a")
    cycle = Cycle(random.Random(1))

    assert isinstance(cycle.decide(pod("small", 0), state.nodes), Unschedulable)
    assert cycle.decide(important, state.nodes) == Placed("a")
    assert cycle.decide(pod("more-important", 11), state.nodes) == Placed("a")

    state.remove_pod("important")
    assert cycle.decide(pod("small", 0), state.nodes) == Placed("a")


def test_while_victims_are_leaving_no_more_are_chosen() -> None:
    leaving = node("a", pod("x", going=True), pod("y"))

    assert is_waiting_for_victims(pod("new", 10), leaving)
    assert not is_waiting_for_victims(pod("new", 10), node("a", pod("y")))
    assert not is_waiting_for_victims(pod("new", 10), None)


def test_room_that_is_being_made_for_a_lesser_pod_is_taken_from_it() -> None:
    full = node("a", pod("x"), pod("y"))
    for lesser in (pod("lesser", 5), pod("equal", 10)):
        full.nominated[lesser.uid] = lesser

    made = room(pod("new", 10, cpu="1"), full)

    assert isinstance(made, Preemption)
    assert [other.name for other in made.displaced] == ["lesser"]
