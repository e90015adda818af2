"""The steps of a rollout, decided without a loop: for any sizes they end, inside the bounds."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from proreus.api.object import KubeObject
from proreus.cluster.controllers.deployment.replica_sets import RolloutLimits, rollout_limits
from proreus.cluster.controllers.deployment.rolling import (
    initial_size,
    proportional,
    scale_down,
    scale_up,
)


def replica_set(name: str, size: int, available: int, **annotations: str) -> KubeObject:
    return KubeObject.from_dict(
        {
            "apiVersion": "apps/v1",
            "kind": "ReplicaSet",
            "metadata": {
                "name": name, "namespace": "default", "uid": name, "generation": 1,
                "creationTimestamp": "2026-01-01T00:00:00Z",
                "annotations": {
                    f"deployment.kubernetes.io/{key.replace('_', '-')}": value
                    for key, value in annotations.items()
                },
            },
            "spec": {"replicas": size},
            "status": {"replicas": size, "availableReplicas": available, "observedGeneration": 1},
        }
    )  # fmt: skip


def deployment(replicas: int, surge: int | str, unavailable: int | str) -> KubeObject:
    rolling: dict[str, Any] = {"maxSurge": surge, "maxUnavailable": unavailable}
    spec = {"replicas": replicas, "strategy": {"rollingUpdate": rolling}}
    return KubeObject.from_dict({"metadata": {"name": "web"}, "spec": spec})


def test_surge_rounds_up_and_unavailable_down() -> None:
    assert rollout_limits(deployment(10, "25%", "25%")) == RolloutLimits(10, 3, 2)
    assert rollout_limits(deployment(1, "25%", "25%")) == RolloutLimits(1, 1, 0)


def test_without_any_room_one_pod_may_be_missing() -> None:
    assert rollout_limits(deployment(3, 0, "10%")) == RolloutLimits(3, 0, 1)


def test_no_more_pods_are_unavailable_than_there_are() -> None:
    assert rollout_limits(deployment(0, 1, 1)) == RolloutLimits(0, 1, 0)


@given(
    st.integers(1, 40), st.integers(0, 10), st.integers(0, 10),
    st.lists(st.integers(0, 100), min_size=1, max_size=200),
)  # fmt: skip
def test_every_rollout_stays_inside_its_bounds_and_ends(
    replicas: int, surge: int, unavailable: int, luck: list[int]
) -> None:
    limits = rollout_limits(deployment(replicas, surge, unavailable))
    old_size, new_size, new_ready = replicas, 0, 0
    old = replica_set("old", old_size, old_size)
    new_size = initial_size(limits, [old], recreate=False)
    for turn in range(400):
        old = replica_set("old", old_size, old_size)
        new = replica_set("new", new_size, new_ready)
        steps = scale_up(limits, new, [old]) or scale_down(limits, new, [old])
        for step in steps:
            if step.replica_set.name == "old":
                old_size = step.to
            else:
                new_size = step.to
        assert old_size + new_size <= limits.max_total
        assert old_size + min(new_ready, new_size) >= limits.min_available
        if not steps:
            # Some of the new pods become ready, at least one.
            missing = new_size - new_ready
            new_ready += min(missing, 1 + luck[turn % len(luck)] % (missing + 1))
        if old_size == 0 and new_ready == replicas:
            break
    assert (old_size, new_size) == (0, replicas)


def test_unhealthy_old_pods_go_first_whatever_their_age() -> None:
    healthy, broken = replica_set("a", 5, 5), replica_set("b", 3, 0)
    steps = scale_down(RolloutLimits(8, 0, 3), replica_set("new", 0, 0), [healthy, broken])

    assert [(step.replica_set.name, step.to) for step in steps] == [("b", 0)]


def test_nothing_grows_before_a_resized_old_replica_set_has_settled() -> None:
    resized = replica_set("old", 8, 8).to_dict()
    resized["metadata"]["generation"] = 2

    assert (
        scale_up(RolloutLimits(10, 2, 0), replica_set("new", 1, 1), [KubeObject.from_dict(resized)])
        == []
    )


@given(st.integers(0, 60), st.integers(0, 10), st.integers(1, 30), st.integers(1, 30))
def test_another_wish_is_shared_among_the_replica_sets(
    replicas: int, surge: int, first: int, second: int
) -> None:
    limits = RolloutLimits(replicas, surge, 0)
    whole = str(first + second)
    old = replica_set("old", first, first, max_replicas=whole)
    new = replica_set("new", second, 0, max_replicas=whole)

    sizes = {"old": first, "new": second}
    for step in proportional(limits, new, [old]):
        sizes[step.replica_set.name] = step.to

    assert sum(sizes.values()) == limits.max_total
    assert min(sizes.values()) >= 0


def test_a_single_active_replica_set_takes_the_whole_wish() -> None:
    steps = proportional(
        RolloutLimits(7, 2, 0), replica_set("new", 4, 4), [replica_set("old", 0, 0)]
    )

    assert [(step.replica_set.name, step.to) for step in steps] == [("new", 7)]
