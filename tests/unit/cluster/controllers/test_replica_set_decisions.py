"""What a ReplicaSet does next, which pods it gives up, and what its status says."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from proreus.api.object import KubeObject
from proreus.api.selectors.labels import LabelSelector
from proreus.api.values.timestamp import format_time
from proreus.cluster.controllers.ownership import claim
from proreus.cluster.controllers.pod_owners import until_next_available_s
from proreus.cluster.controllers.pod_template import content_hash
from proreus.cluster.controllers.replica_set.decisions import (
    ReplicaFailure,
    plan,
    status_of,
)
from proreus.cluster.controllers.replica_set.pause import Pause, pause_s
from proreus.cluster.controllers.replica_set.pod_summaries import PodSummary
from proreus.cluster.controllers.replica_set.ranking import first_to_delete
from proreus.cluster.pod_status import until_available_s

NOW = 1_767_225_600.0


def pod(
    name: str,
    *,
    phase: str = "Running",
    ready_s: float | None = 100,
    node: str = "n1",
    labels: dict[str, str] | None = None,
    **metadata: Any,
) -> KubeObject:
    ready = {
        "type": "Ready",
        "status": "True" if ready_s is not None else "False",
        "lastTransitionTime": format_time(NOW - (ready_s or 0)),
    }
    return KubeObject.from_dict(
        {
            "metadata": {
                "name": name, "namespace": "default", "uid": name, "labels": labels or {"app": "a"},
                "creationTimestamp": format_time(NOW - 200), **metadata,
            },
            "spec": {"nodeName": node} if node else {},
            "status": {"phase": phase, "conditions": [ready]},
        }
    )  # fmt: skip


def summaries(pods: Iterable[KubeObject]) -> list[PodSummary]:
    return [PodSummary.of(one) for one in pods]


def replica_set(replicas: int, **spec: Any) -> KubeObject:
    return KubeObject.from_dict(
        {
            "kind": "ReplicaSet",
            "apiVersion": "apps/v1",
            "metadata": {"name": "web", "namespace": "default", "uid": "me", "generation": 3},
            "spec": {
                "replicas": replicas,
                "template": {"metadata": {"labels": {"app": "a"}}},
                **spec,
            },
        }
    )


def test_missing_pods_are_created_at_most_a_burst_at_a_time() -> None:
    assert plan(replica_set(3), [PodSummary.of(pod("a"))], list, NOW).create == 2
    assert plan(replica_set(3000), [], list, NOW).create == 500


def test_the_least_missed_pods_go_first() -> None:
    ranked = [
        pod("unassigned", node="", phase="Pending", ready_s=None),
        pod("pending", phase="Pending", ready_s=None),
        pod("unready", ready_s=None),
        pod("cheap", annotations={"controller.kubernetes.io/pod-deletion-cost": "-5"}),
        pod("crowded", node="full"),
        pod("fresh", ready_s=1),
        pod("old"),
    ]
    crowd = [pod("x", node="full"), pod("y", node="full"), *ranked]
    crowd = [one for one in crowd if one.spec.nodeName != "n1"]

    chosen = first_to_delete(summaries(reversed(ranked)), 7, summaries(crowd), NOW)

    assert [one.pod.name for one in chosen] == [one.name for one in ranked]


def test_a_replica_set_that_is_being_deleted_does_nothing() -> None:
    going = replica_set(3).to_dict()
    going["metadata"]["deletionTimestamp"] = format_time(NOW)
    assert plan(KubeObject.from_dict(going), [], list, NOW).create == 0


def test_the_status_counts_what_is_ready_available_and_going() -> None:
    pods = [
        pod("available", ready_s=50),
        pod("ready", ready_s=5),
        pod("other", labels={"app": "a", "tier": "x"}, ready_s=None),
        pod("going", deletionTimestamp=format_time(NOW)),
        pod("failed", phase="Failed"),
    ]
    status = status_of(replica_set(3, minReadySeconds=10), summaries(pods), None, NOW)

    assert status == {
        "replicas": 3,
        "fullyLabeledReplicas": 3,
        "readyReplicas": 2,
        "availableReplicas": 1,
        "terminatingReplicas": 1,
        "observedGeneration": 3,
    }
    assert until_next_available_s(replica_set(3, minReadySeconds=10), pods, NOW) == 5


def test_trouble_becomes_a_condition() -> None:
    status = status_of(replica_set(1), [], ReplicaFailure("FailedCreate", "no room"), NOW)
    (condition,) = status["conditions"]
    assert (condition["type"], condition["message"]) == ("ReplicaFailure", "no room")


def test_availability_waits_for_the_minimum_time() -> None:
    assert until_available_s(pod("a", ready_s=4), 10, NOW) == 6
    assert until_available_s(pod("a", ready_s=4), 0, NOW) == 0
    assert until_available_s(pod("a", ready_s=None), 0, NOW) is None


def test_claims_adopt_orphans_release_strangers_and_leave_others_alone() -> None:
    mine: dict[str, Any] = {"ownerReferences": [{"uid": "me", "controller": True, "name": "web"}]}
    other: dict[str, Any] = {"ownerReferences": [{"uid": "you", "controller": True, "name": "db"}]}
    found = [
        pod("kept", **mine),
        pod("stray", labels={"app": "b"}, **mine),
        pod("orphan"),
        pod("going-orphan", deletionTimestamp=format_time(NOW)),
        pod("foreign", **other),
    ]
    claimed = claim(replica_set(1), found, LabelSelector.parse("app=a"))

    assert [one.name for one in claimed.kept] == ["kept"]
    assert [one.name for one in claimed.adopted] == ["orphan"]
    assert [one.name for one in claimed.released] == ["stray"]


def test_a_hash_does_not_depend_on_the_order_of_fields() -> None:
    one, other = {"a": 1, "b": [{"c": 2, "d": 3}]}, {"b": [{"d": 3, "c": 2}], "a": 1}
    assert content_hash(one) == content_hash(other)
    assert content_hash(one) != content_hash(one, 1)


def test_a_replica_set_is_looked_at_for_a_tenth_of_the_time() -> None:
    assert pause_s(500, 0.02) == pytest.approx(9 * 0.02)


def test_a_large_replica_set_rests_even_if_a_reconcile_took_no_time() -> None:
    assert pause_s(1000, 0.0) == pytest.approx(0.1)
    assert pause_s(0, 0.0) == 0.0


def test_a_slow_server_delays_a_small_replica_set_by_no_more_than_a_millisecond_per_pod() -> None:
    assert pause_s(5, 10.0) == pytest.approx(0.005)
    assert pause_s(100, 10.0) == pytest.approx(0.1)


def test_a_slow_server_delays_no_replica_set_by_more_than_half_a_second() -> None:
    assert pause_s(1000, 10.0) == pause_s(5000, 10.0) == 0.5


def test_a_pause_ends_with_the_last_pod_that_starts() -> None:
    present = {one.key: one for one in (pod("a"), pod("b", ready_s=None), pod("c", ready_s=None))}
    pause = Pause(1, NOW + 0.5, summaries(present.values()))
    assert pause.left_s(NOW, present.get) == pytest.approx(0.5)
    present["default/b"] = pod("b")
    assert pause.left_s(NOW, present.get) == pytest.approx(0.5)
    present["default/c"] = pod("c", ready_s=None)  # another version of it
    assert pause.left_s(NOW, present.get) == pytest.approx(0.5)
    present["default/c"] = pod("c")
    assert pause.left_s(NOW, present.get) == 0.0


@pytest.mark.parametrize("successor", [None, pod("a", uid="another")])
def test_a_pause_ends_with_the_last_pod_that_goes(successor: KubeObject | None) -> None:
    going = pod("a", deletionTimestamp=format_time(NOW))
    present: dict[str, KubeObject | None] = {going.key: going}
    pause = Pause(1, NOW + 0.5, summaries([going, pod("failed", phase="Failed", ready_s=None)]))
    assert pause.left_s(NOW, present.get) == pytest.approx(0.5)
    present[going.key] = successor
    assert pause.left_s(NOW, present.get) == 0.0


def test_a_pause_that_waits_for_no_pod_lasts_its_time() -> None:
    pause = Pause(1, NOW + 0.5, summaries([pod("a")]))
    assert pause.left_s(NOW, lambda key: None) == pytest.approx(0.5)


def test_a_pause_looks_at_one_pod_for_each_change() -> None:
    starting = {one.key: one for one in (pod(f"p{n}", ready_s=None) for n in range(100))}
    present, looked = dict(starting), []

    def find(key: str) -> KubeObject | None:
        looked.append(key)
        return present[key]

    pause = Pause(1, NOW + 0.5, summaries(starting.values()))
    for key in starting:
        present[key] = pod(key.removeprefix("default/"))
        pause.left_s(NOW, find)
    assert len(looked) < 200 + 1
    assert pause.left_s(NOW, find) == 0.0
