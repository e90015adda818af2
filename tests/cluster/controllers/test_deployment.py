"""Deployments over the wire: rollouts whose every step is looked at, history, rollback, pause."""

from __future__ import annotations

from typing import Any

import pytest

from proreus.api.object import KubeObject
from proreus.client.resources.resource_client import ResourceClient
from tests.cluster.controllers.stage import Stage, deployment, running, status_of
from tests.following import Change, wait_for_list

CONTROLLERS = ("replicaset", "deployment")


def is_rolled_out(obj: KubeObject | None) -> bool:
    """As ``kubectl rollout status`` decides."""
    if obj is None:
        return False
    status, wanted = obj.status or {}, obj.spec.replicas
    return bool(
        status.get("observedGeneration", 0) >= obj.metadata.generation
        and status.get("updatedReplicas", 0) == wanted
        and status.get("replicas", 0) == wanted
        and status.get("availableReplicas", 0) == wanted
    )


async def rolled_out(stage: Stage, name: str) -> KubeObject:
    found = await stage.wait(_deployments(stage), name, is_rolled_out)
    assert found is not None
    return found


async def set_image(stage: Stage, name: str, image: str) -> None:
    containers = [{"name": "main", "image": image}]
    patch = {"spec": {"template": {"spec": {"containers": containers}}}}
    await _deployments(stage).patch(name, patch, type="strategic")


def _deployments(stage: Stage) -> ResourceClient:
    return stage.client.apps_v1.deployments("default")


def _sets(stage: Stage) -> ResourceClient:
    return stage.client.apps_v1.replicasets("default")


async def test_a_deployment_becomes_a_replica_set_and_its_pods(stage: Stage) -> None:
    await _deployments(stage).create(deployment("web", 3))

    await rolled_out(stage, "web")
    done = await _complete(stage)

    (owned,) = (await _sets(stage).list()).items
    hashed = owned.labels["pod-template-hash"]
    assert owned.name == f"web-{hashed}"
    assert owned.spec.selector.matchLabels["pod-template-hash"] == hashed
    assert done.annotations["deployment.kubernetes.io/revision"] == "1"
    assert owned.annotations["deployment.kubernetes.io/revision"] == "1"
    assert {(one.type, one.status, one.reason) for one in done.status.conditions} == {
        ("Available", "True", "MinimumReplicasAvailable"),
        ("Progressing", "True", "NewReplicaSetAvailable"),
    }


async def _complete(stage: Stage) -> KubeObject:
    def holds(obj: KubeObject | None) -> bool:
        found = status_of(obj).get("conditions") or ()
        return any(one["reason"] == "NewReplicaSetAvailable" for one in found)

    done = await stage.wait(_deployments(stage), "web", holds)
    assert done is not None
    return done


@pytest.mark.parametrize(
    ("surge", "unavailable", "least", "most"),
    [(1, 0, 12, 13), (0, 2, 10, 12), ("25%", "25%", 9, 15)],
)
async def test_a_rolling_update_keeps_its_bounds_at_all_times(
    stage: Stage, surge: int | str, unavailable: int | str, least: int, most: int
) -> None:
    rolling = {"maxSurge": surge, "maxUnavailable": unavailable}
    strategy = {"type": "RollingUpdate", "rollingUpdate": rolling}
    await _deployments(stage).create(deployment("web", 12, strategy=strategy))
    await rolled_out(stage, "web")
    before = await stage.begin_history()
    assert len(before) == 12

    await set_image(stage, "web", "web:2")
    await rolled_out(stage, "web")

    moments = _moments(before, await stage.history())
    assert min(available for available, _ in moments) >= least
    assert max(there for _, there in moments) <= most
    assert {pod.spec.containers[0].image for pod in await stage.active(app="web")} == {"web:2"}


def _moments(state: dict[str, KubeObject], history: list[Change]) -> list[tuple[int, int]]:
    """How many pods were available, and how many there at all, after each change."""
    found = []
    for old, new in history:
        seen = new or old
        assert seen is not None
        state.pop(seen.name, None)
        if new is not None and not new.metadata.deletionTimestamp:
            state[new.name] = new
        found.append((sum(_is_ready(pod) for pod in state.values()), len(state)))
    return found


def _is_ready(pod: KubeObject) -> bool:
    conditions: Any = (pod.status or {}).get("conditions") or ()
    return any(one.type == "Ready" and one.status == "True" for one in conditions)


async def test_old_replica_sets_are_kept_for_rollback_up_to_the_limit(stage: Stage) -> None:
    await _deployments(stage).create(deployment("web", 1, revisionHistoryLimit=2))
    for number in range(2, 6):
        await rolled_out(stage, "web")
        await set_image(stage, "web", f"web:{number}")
    await rolled_out(stage, "web")

    def is_trimmed(sets: list[KubeObject]) -> bool:
        revisions = {one.annotations["deployment.kubernetes.io/revision"] for one in sets}
        return revisions == {"3", "4", "5"}

    await wait_for_list(_sets(stage), is_trimmed)


async def test_an_earlier_template_is_rolled_back_to_its_own_replica_set(stage: Stage) -> None:
    await _deployments(stage).create(deployment("web", 2))
    await rolled_out(stage, "web")
    (first,) = (await _sets(stage).list()).items
    await set_image(stage, "web", "web:2")
    await rolled_out(stage, "web")

    await set_image(stage, "web", "web:1")
    await rolled_out(stage, "web")

    again = await _sets(stage).get(first.name)
    assert again.spec.replicas == 2
    assert again.annotations["deployment.kubernetes.io/revision"] == "3"
    assert again.annotations["deployment.kubernetes.io/revision-history"] == "1"


async def test_recreate_starts_no_new_pod_while_an_old_one_is_there(stage: Stage) -> None:
    made = deployment("web", 3, strategy={"type": "Recreate"})
    await _deployments(stage).create(made)
    await rolled_out(stage, "web")
    there = await stage.begin_history()

    await set_image(stage, "web", "web:2")
    await rolled_out(stage, "web")

    for old, new in await stage.history():
        if new is None and old is not None:
            there.pop(old.name, None)
        elif new is not None:
            there[new.name] = new
        assert len({pod.spec.containers[0].image for pod in there.values()}) <= 1


async def test_a_paused_deployment_scales_but_does_not_roll(stage: Stage) -> None:
    await _deployments(stage).create(deployment("web", 2))
    await rolled_out(stage, "web")
    await _deployments(stage).patch("web", {"spec": {"paused": True}})
    await set_image(stage, "web", "web:2")

    await _deployments(stage).set_scale("web", 4)

    def is_scaled(obj: KubeObject | None) -> bool:
        status = status_of(obj)
        return bool(status.get("availableReplicas") == 4 and not status.get("updatedReplicas"))

    await stage.wait(_deployments(stage), "web", is_scaled)
    assert {pod.spec.containers[0].image for pod in await stage.active(app="web")} == {"web:1"}

    await _deployments(stage).patch("web", {"spec": {"paused": False}})
    await rolled_out(stage, "web")
    assert len((await _sets(stage).list()).items) == 2


async def test_scaling_to_nothing_and_back(stage: Stage) -> None:
    await _deployments(stage).create(deployment("web", 3))
    await rolled_out(stage, "web")

    await _deployments(stage).set_scale("web", 0)
    await stage.wait(
        _deployments(stage), "web", lambda one: one and not (one.status or {}).get("replicas")
    )
    await _deployments(stage).set_scale("web", 2)

    await rolled_out(stage, "web")


async def test_a_rollout_that_gets_nowhere_is_reported(stage: Stage) -> None:
    stage.plays = False
    await _deployments(stage).create(deployment("web", 1, progressDeadlineSeconds=1))

    def is_stuck(obj: KubeObject | None) -> bool:
        found = status_of(obj).get("conditions") or ()
        return any(one["reason"] == "ProgressDeadlineExceeded" for one in found)

    await stage.wait(_deployments(stage), "web", is_stuck)

    (pod,) = await stage.wait_active(1, app="web")  # it may be late by more than the deadline
    await stage.client.core_v1.pods("default").patch_status(pod.name, running(), type="strategic")
    await _complete(stage)


async def test_every_scaling_is_reported_in_an_event(stage: Stage) -> None:
    await _deployments(stage).create(deployment("web", 2))
    await rolled_out(stage, "web")

    events = stage.client.core_v1.events("default")
    found = await wait_for_list(events, _of_deployments)

    (event,) = _of_deployments(found)
    (owned,) = (await _sets(stage).list()).items
    assert event.reason == "ScalingReplicaSet"
    assert event.message == f"Scaled up replica set {owned.name} from 0 to 2"


def _of_deployments(events: list[KubeObject]) -> list[KubeObject]:
    return [event for event in events if event.involvedObject.kind == "Deployment"]
