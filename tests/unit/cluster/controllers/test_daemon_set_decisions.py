"""Where a DaemonSet runs and how it is renewed, decided without a loop."""

from __future__ import annotations

from typing import Any

import pytest

from proreus.api.object import KubeObject
from proreus.api.values.timestamp import format_time
from proreus.cluster.controllers.daemon_set.decisions import DaemonSetState, Plan, plan, status_of
from proreus.cluster.controllers.daemon_set.failed_pod_backoff import FailedPodBackoff
from proreus.cluster.controllers.daemon_set.nodes import NOWHERE, Fit, node_fit, node_of, pod_for

NOW = 1_767_225_600.0
ANYWHERE = Fit(may_begin=True, may_stay=True)
STAY = Fit(may_begin=False, may_stay=True)
NODES = {"n1": ANYWHERE, "n2": ANYWHERE, "n3": ANYWHERE}


def daemon_set(strategy: dict[str, Any] | None = None, **spec: Any) -> KubeObject:
    template = {"metadata": {"labels": {"app": "agent"}}, "spec": spec.pop("pod", {})}
    content = {"template": template, "updateStrategy": strategy or {}, **spec}
    metadata = {"name": "agent", "namespace": "default", "uid": "me", "generation": 2}
    return KubeObject.from_dict({"metadata": metadata, "spec": content})


def rolling(**rest: Any) -> dict[str, Any]:
    return {"type": "RollingUpdate", "rollingUpdate": rest}


def pod(
    node: str,
    revision: str = "new",
    *,
    phase: str = "Running",
    ready_s: float | None = 60,
    age_s: float = 100,
    going: bool = False,
) -> KubeObject:
    metadata: dict[str, Any] = {
        "name": f"{node}-{revision}",
        "uid": f"{node}-{revision}",
        "labels": {"controller-revision-hash": revision},
        "creationTimestamp": format_time(NOW - age_s),
    }
    if going:
        metadata["deletionTimestamp"] = format_time(NOW)
    ready = {
        "type": "Ready",
        "status": "False" if ready_s is None else "True",
        "lastTransitionTime": format_time(NOW - (ready_s or 0)),
    }
    status = {"phase": phase, "conditions": [ready]}
    return KubeObject.from_dict(
        {"metadata": metadata, "spec": {"nodeName": node}, "status": status}
    )


def decided(
    wish: KubeObject, *pods: KubeObject, fits: dict[str, Fit] = NODES
) -> tuple[list[str], list[str]]:
    """Nodes to start on, and names of pods to stop."""
    found = plan(DaemonSetState(wish, fits, pods, "new", NOW))
    return list(found.start), [one.name for one in (*found.stop, *found.ended)]


def test_every_node_that_fits_gets_a_pod_and_others_lose_theirs() -> None:
    fits = {"n1": ANYWHERE, "n2": NOWHERE, "n3": STAY, "n4": STAY}
    pods = (pod("n2"), pod("n3"), pod("gone"))
    assert decided(daemon_set(), *pods, fits=fits) == (["n1"], ["gone-new", "n2-new"])


def test_a_pod_that_goes_holds_its_place_until_it_is_gone() -> None:
    assert decided(daemon_set(), pod("n1", going=True), pod("n2"), pod("n3")) == ([], [])


def test_of_two_pods_on_a_node_the_older_stays() -> None:
    pods = (pod("n1", "newer", age_s=1), pod("n1"), pod("n2"), pod("n3"))
    assert decided(daemon_set(), *pods) == ([], ["n1-newer"])


@pytest.mark.parametrize("phase", ["Failed", "Succeeded"])
def test_a_pod_that_ended_makes_room_for_the_next(phase: str) -> None:
    assert decided(daemon_set(), pod("n1", phase=phase), pod("n2"), pod("n3")) == ([], ["n1-new"])


@pytest.mark.parametrize(("limit", "expected"), [(1, 1), (2, 2), ("34%", 2), ("1%", 1)])
def test_outdated_pods_go_as_many_at_a_time_as_may_be_missing(
    limit: int | str, expected: int
) -> None:
    old = [pod(node, "old") for node in NODES]
    _, stop = decided(daemon_set(rolling(maxUnavailable=limit)), *old)
    assert stop == ["n1-old", "n2-old"][:expected]


def test_while_a_new_pod_comes_up_no_other_goes() -> None:
    pods = (pod("n1", ready_s=None), pod("n2", "old"), pod("n3", "old"))
    assert decided(daemon_set(rolling(maxUnavailable=1)), *pods) == ([], [])


def test_a_new_pod_is_up_only_after_it_was_ready_for_long_enough() -> None:
    wish = daemon_set(rolling(maxUnavailable=1), minReadySeconds=30)
    rest = (pod("n2", "old"), pod("n3", "old"))
    assert decided(wish, pod("n1", ready_s=29), *rest) == ([], [])
    assert decided(wish, pod("n1", ready_s=30), *rest) == ([], ["n2-old"])


def test_what_does_not_work_is_renewed_without_asking() -> None:
    pods = (pod("n1", "old", ready_s=None), pod("n2", "old", ready_s=None), pod("n3", "old"))
    assert decided(daemon_set(rolling(maxUnavailable=1)), *pods) == ([], ["n1-old", "n2-old"])


def test_with_surge_the_new_pod_begins_beside_the_old_one() -> None:
    wish = daemon_set(rolling(maxSurge=1, maxUnavailable=0))
    old = [pod(node, "old") for node in NODES]
    assert decided(wish, *old) == (["n1"], [])
    assert decided(wish, *old, pod("n1", ready_s=None, age_s=1)) == ([], [])
    assert decided(wish, *old, pod("n1", age_s=1)) == ([], ["n1-old"])
    assert decided(wish, pod("n1"), *old[1:]) == (["n2"], [])


def test_with_surge_an_old_pod_that_does_not_work_gives_way_at_once() -> None:
    wish = daemon_set(rolling(maxSurge=1, maxUnavailable=0))
    pods = (pod("n1", "old", ready_s=None), pod("n1", ready_s=None), pod("n2"), pod("n3"))
    assert decided(wish, *pods) == ([], ["n1-old"])


def test_on_delete_nothing_is_renewed() -> None:
    old = [pod(node, "old") for node in NODES]
    assert decided(daemon_set({"type": "OnDelete"}), *old) == ([], [])


def test_a_pod_fits_its_node_only_and_tolerates_a_nodes_troubles() -> None:
    made = KubeObject.from_dict(pod_for(daemon_set(pod={"hostNetwork": True}), "abc", "n2"))

    assert node_of(made) == "n2"
    assert made.labels["controller-revision-hash"] == "abc"
    keys = {one.key for one in made.spec.tolerations}
    assert {
        "node.kubernetes.io/unschedulable",
        "node.kubernetes.io/network-unavailable",
    } <= keys


def node(labels: dict[str, str], *taints: tuple[str, str]) -> KubeObject:
    spec = {"taints": [{"key": key, "effect": effect} for key, effect in taints]}
    return KubeObject.from_dict({"metadata": {"name": "n1", "labels": labels}, "spec": spec})


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (node({"disk": "fast"}), ANYWHERE),
        (node({}), NOWHERE),
        (node({"disk": "fast"}, ("gpu", "NoSchedule")), STAY),
        (node({"disk": "fast"}, ("gpu", "NoExecute")), NOWHERE),
        (node({"disk": "fast"}, ("node.kubernetes.io/not-ready", "NoExecute")), ANYWHERE),
    ],
    ids=["fits", "label missing", "tainted", "evicting", "tolerated"],
)
def test_a_node_is_evaluated_by_its_labels_and_taints(found: KubeObject, expected: Fit) -> None:
    assert node_fit(daemon_set(pod={"nodeSelector": {"disk": "fast"}}))(found) == expected


def test_the_status_counts_what_is_where_it_should_be() -> None:
    fits = {**NODES, "n4": STAY}
    pods = [pod("n1"), pod("n2", "old"), pod("n3", ready_s=None), pod("n4")]
    state = DaemonSetState(daemon_set(), fits, pods, "new", NOW)

    assert status_of(state, 0) == {
        "currentNumberScheduled": 3,
        "numberMisscheduled": 1,
        "desiredNumberScheduled": 3,
        "numberReady": 2,
        "observedGeneration": 2,
        "updatedNumberScheduled": 2,
        "numberAvailable": 2,
        "numberUnavailable": 1,
    }


def test_nothing_is_planned_for_a_daemon_set_without_nodes() -> None:
    assert plan(DaemonSetState(daemon_set(), {}, (), "new", NOW)) == Plan()


def test_a_node_whose_pods_keep_failing_waits_ever_longer() -> None:
    failures = FailedPodBackoff()
    assert failures.wait_s("n1", NOW) == 0
    assert failures.wait_s("n1", NOW + 0.4) == pytest.approx(0.6)
    assert failures.wait_s("n1", NOW + 1) == 0
    assert failures.wait_s("n1", NOW + 1.5) == pytest.approx(1.5)
    assert failures.wait_s("n2", NOW + 1.5) == 0
    assert failures.wait_s("n1", NOW + 9000) == 0
    assert failures.wait_s("n1", NOW + 9001) == 0
