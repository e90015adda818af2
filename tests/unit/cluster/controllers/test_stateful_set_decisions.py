"""What a StatefulSet does next, decided without a loop."""

from __future__ import annotations

from typing import Any

import pytest

from proreus.api.object import KubeObject
from proreus.api.values.timestamp import format_time
from proreus.cluster.controllers.stateful_set import claims, decisions
from proreus.cluster.controllers.stateful_set.identity import (
    claims_for,
    ordinal_of,
    pod_for,
)

NOW = 1_767_225_600.0
ON_DELETE = {"type": "OnDelete"}


def stateful_set(replicas: int, **spec: Any) -> KubeObject:
    content = {"replicas": replicas, "selector": {"matchLabels": {"app": "db"}}, **spec}
    metadata = {"name": "db", "namespace": "default", "uid": "me", "generation": 3}
    return KubeObject.from_dict(
        {"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": metadata, "spec": content}
    )


def pod(
    ordinal: int,
    phase: str = "Running",
    *,
    revision: str = "new",
    ready_s: float | None = 60,
    going: bool = False,
) -> KubeObject:
    labels = {"controller-revision-hash": revision}
    metadata: dict[str, Any] = {"name": f"db-{ordinal}", "uid": str(ordinal), "labels": labels}
    if going:
        metadata["deletionTimestamp"] = format_time(NOW)
    ready = {
        "type": "Ready",
        "status": "True" if ready_s is not None and phase == "Running" else "False",
        "lastTransitionTime": format_time(NOW - (ready_s or 0)),
    }
    status = {"phase": phase, "conditions": [ready]}
    return KubeObject.from_dict({"metadata": metadata, "status": status})


def state(wish: KubeObject, *pods: KubeObject) -> decisions.StatefulSetState:
    return decisions.StatefulSetState(wish, decisions.members(wish, pods), "new", NOW)


def decided(wish: KubeObject, *pods: KubeObject) -> decisions.Plan:
    return decisions.plan(state(wish, *pods))


def numbers(pods: tuple[KubeObject, ...]) -> list[str]:
    return [one.uid for one in pods]


def rolling(**rest: Any) -> dict[str, Any]:
    return {"updateStrategy": {"type": "RollingUpdate", "rollingUpdate": rest}}


# In order


def test_pods_are_created_one_after_the_other() -> None:
    wish = stateful_set(3)
    assert decided(wish) == decisions.Plan(create=(0,))
    assert decided(wish, pod(0)) == decisions.Plan(create=(1,))
    assert decided(wish, pod(0), pod(1), pod(2)) == decisions.Plan()


@pytest.mark.parametrize(
    "first", [pod(0, "Pending"), pod(0, ready_s=None), pod(0, going=True)], ids=repr
)
def test_a_pod_that_is_not_available_holds_up_the_next(first: KubeObject) -> None:
    assert decided(stateful_set(3), first) == decisions.Plan()


def test_a_pod_must_have_been_ready_for_long_enough_before_the_next_begins() -> None:
    wish = stateful_set(2, minReadySeconds=30)
    assert decided(wish, pod(0, ready_s=29)) == decisions.Plan()
    assert decided(wish, pod(0, ready_s=30)) == decisions.Plan(create=(1,))


def test_a_gap_is_filled_before_anything_else_happens() -> None:
    assert decided(stateful_set(2), pod(1, revision="old"), pod(2)) == decisions.Plan(create=(0,))


@pytest.mark.parametrize("phase", ["Failed", "Succeeded"])
def test_a_pod_that_ended_is_deleted_to_be_made_again(phase: str) -> None:
    assert numbers(decided(stateful_set(2), pod(0, phase), pod(1)).recreate) == ["0"]
    assert decided(stateful_set(2), pod(0, phase, going=True), pod(1)) == decisions.Plan()


def test_pods_are_scaled_away_from_the_highest_one_at_a_time() -> None:
    wish = stateful_set(1)
    assert numbers(decided(wish, pod(0), pod(1), pod(2)).delete) == ["2"]
    assert decided(wish, pod(0), pod(1), pod(2, going=True)) == decisions.Plan()
    assert numbers(decided(wish, pod(0), pod(1)).delete) == ["1"]


def test_scaling_down_waits_for_every_pod_that_stays() -> None:
    assert decided(stateful_set(1), pod(0, ready_s=None), pod(1)) == decisions.Plan()


def test_of_condemned_pods_only_a_single_broken_one_goes_out_of_turn() -> None:
    broken = pod(3, ready_s=None)
    assert numbers(decided(stateful_set(1), pod(0), pod(2), broken).delete) == ["3"]
    assert decided(stateful_set(1), pod(0), pod(2, ready_s=None), broken) == decisions.Plan()


def test_numbers_may_begin_anywhere() -> None:
    wish = stateful_set(2, ordinals={"start": 5})
    assert decided(wish) == decisions.Plan(create=(5,))
    assert numbers(decided(wish, pod(5), pod(6), pod(0)).delete) == ["0"]


# All at once


def test_in_parallel_all_missing_pods_are_created_and_all_condemned_ones_deleted() -> None:
    wish = stateful_set(4, podManagementPolicy="Parallel")
    found = decided(wish, pod(1, "Pending"), pod(4), pod(5, going=True), pod(6))
    assert found.create == (0, 2, 3)
    assert numbers(found.delete) == ["6", "4"]


def test_in_parallel_pods_that_ended_are_renewed_beside_the_others() -> None:
    wish = stateful_set(3, podManagementPolicy="Parallel")
    found = decided(wish, pod(0, "Failed"), pod(1))
    assert (found.create, numbers(found.recreate)) == ((2,), ["0"])


# Updates


def test_an_update_renews_the_highest_pod_and_waits_for_it() -> None:
    wish = stateful_set(3, **rolling())
    old = [pod(n, revision="old") for n in range(3)]
    assert numbers(decided(wish, *old).delete) == ["2"]
    assert decided(wish, old[0], old[1], pod(2, ready_s=None)) == decisions.Plan()
    assert numbers(decided(wish, old[0], old[1], pod(2)).delete) == ["1"]


def test_pods_below_the_partition_stay_and_are_made_again_as_they_were() -> None:
    wish = stateful_set(3, **rolling(partition=2))
    old = [pod(n, revision="old") for n in range(3)]
    assert numbers(decided(wish, *old).delete) == ["2"]
    assert decided(wish, old[0], old[1], pod(2)) == decisions.Plan()
    assert [decisions.is_below_partition(wish, n) for n in range(3)] == [True, True, False]


@pytest.mark.parametrize(("limit", "expected"), [(2, 2), ("50%", 2), ("70%", 3), ("1%", 1)])
def test_an_update_may_take_several_pods_at_once(limit: int | str, expected: int) -> None:
    wish = stateful_set(5, podManagementPolicy="Parallel", **rolling(maxUnavailable=limit))
    old = [pod(n, revision="old") for n in range(5)]
    found = numbers(decided(wish, *old).delete)
    assert found == ["4", "3", "2"][:expected]


def test_pods_that_are_down_use_up_the_room_and_are_renewed_for_free() -> None:
    wish = stateful_set(4, podManagementPolicy="Parallel", **rolling(maxUnavailable=1))
    old = [pod(n, revision="old", ready_s=None if n == 1 else 60) for n in range(4)]
    assert numbers(decided(wish, *old).delete) == ["1"]
    assert decided(wish, old[0], pod(1, ready_s=None), old[2], old[3]) == decisions.Plan()


def test_on_delete_leaves_pods_alone_until_they_are_deleted() -> None:
    wish = stateful_set(1, updateStrategy=ON_DELETE)
    assert decided(wish, pod(0, revision="old")) == decisions.Plan()
    assert not decisions.is_below_partition(wish, 0)


# Identity


def test_only_names_that_the_set_would_give_have_a_number() -> None:
    wish = stateful_set(1)
    names = ("db-0", "db-12", "db-01", "db-", "db", "other-0", "db-x-0")
    assert [ordinal_of(wish, name) for name in names] == [0, 12, None, None, None, None, None]


def test_a_pod_knows_who_it_is_and_where_its_storage_is() -> None:
    data = {
        "metadata": {"name": "data", "labels": {"kind": "disk"}},
        "spec": {"accessModes": ["ReadWriteOnce"]},
        "status": {"phase": "Pending"},
    }
    wish = stateful_set(2, serviceName="peers", volumeClaimTemplates=[data])
    template = {
        "metadata": {"labels": {"app": "db"}},
        "spec": {"volumes": [{"name": "data", "emptyDir": {}}, {"name": "tmp", "emptyDir": {}}]},
    }

    made = pod_for(wish, template, "db-abc", 1)
    (claim,) = claims_for(wish, 1)

    assert made["metadata"]["name"] == made["spec"]["hostname"] == "db-1"
    assert made["spec"]["subdomain"] == "peers"
    assert made["metadata"]["labels"] == {
        "app": "db",
        "controller-revision-hash": "db-abc",
        "statefulset.kubernetes.io/pod-name": "db-1",
        "apps.kubernetes.io/pod-index": "1",
    }
    assert made["spec"]["volumes"] == [
        {"name": "data", "persistentVolumeClaim": {"claimName": "data-db-1"}},
        {"name": "tmp", "emptyDir": {}},
    ]
    assert claim["metadata"]["name"] == "data-db-1"
    assert claim["metadata"]["labels"] == {"kind": "disk", "app": "db"}
    assert "status" not in claim


@pytest.mark.parametrize(
    ("policy", "condemned", "kinds"),
    [
        ({}, True, []),
        ({"whenDeleted": "Delete"}, False, ["StatefulSet"]),
        ({"whenDeleted": "Delete"}, True, ["StatefulSet"]),
        ({"whenScaled": "Delete"}, False, []),
        ({"whenScaled": "Delete"}, True, ["Pod"]),
        ({"whenScaled": "Delete", "whenDeleted": "Delete"}, True, ["Pod"]),
        ({"whenScaled": "Delete", "whenDeleted": "Delete"}, False, ["StatefulSet"]),
    ],
)
def test_a_claim_is_owned_by_what_it_shall_go_with(
    policy: dict[str, str], condemned: bool, kinds: list[str]
) -> None:
    wish = stateful_set(1, persistentVolumeClaimRetentionPolicy=policy)
    stale = {"apiVersion": "v1", "kind": "Pod", "name": "db-0", "uid": "before"}
    claim = KubeObject.from_dict({"metadata": {"name": "d", "ownerReferences": [stale]}})

    found = claims.references(wish, pod(0), claim, is_condemned=condemned)

    assert [one["kind"] for one in found] == kinds
    assert claims.is_stale(claim, "db-0")
    assert not claims.is_stale(claim, "db-1")


# Status


def test_the_current_revision_changes_when_all_pods_have() -> None:
    wish = stateful_set(2, **rolling())
    half = decisions.status_of(state(wish, pod(0, revision="old"), pod(1)), "old", 0)
    whole = decisions.status_of(state(wish, pod(0), pod(1)), "old", 0)

    assert (half["currentRevision"], half["currentReplicas"], half["updatedReplicas"]) == (
        "old", 1, 1,
    )  # fmt: skip
    assert (whole["currentRevision"], whole["currentReplicas"]) == ("new", 2)
    assert whole["updateRevision"] == "new"
    assert whole["observedGeneration"] == 3


def test_ready_is_not_yet_available() -> None:
    wish = stateful_set(2, minReadySeconds=30)
    status = decisions.status_of(state(wish, pod(0, ready_s=29), pod(1)), "new", 0)
    assert (status["readyReplicas"], status["availableReplicas"]) == (2, 1)
