"""ReplicaSets over the wire: as many pods as wanted, adopted, released, replaced."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from proreus.api.object import KubeObject
from proreus.client.rest.client import RestClient
from proreus.client.rest.request import Request
from proreus.net.transport_error import ConnectionLost
from tests.cluster.controllers.stage import Stage, template, told_status

CONTROLLERS = ("replicaset",)


def replica_set(name: str, replicas: int) -> dict[str, Any]:
    labels = {"app": name}
    return {
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": template(labels),
        },
    }


def has_available(count: int) -> Any:
    def holds(obj: KubeObject | None) -> bool:
        status = told_status(obj)
        return (status.get("replicas"), status.get("availableReplicas", 0)) == (count, count)

    return holds


async def test_a_replica_set_gets_its_pods_and_gives_up_those_too_many(stage: Stage) -> None:
    sets = stage.client.apps_v1.replicasets("default")
    await sets.create(replica_set("web", 12))
    await stage.wait(sets, "web", has_available(12))
    pods = await stage.client.core_v1.pods("default").list(label_selector="app=web")
    assert len(pods.items) == 12
    assert {pod.metadata.ownerReferences[0].kind for pod in pods.items} == {"ReplicaSet"}

    await sets.set_scale("web", 5)

    await stage.wait(sets, "web", has_available(5))
    left = await stage.client.core_v1.pods("default").list(label_selector="app=web")
    assert len(left.items) == 5
    names = {pod.name for pod in pods.items}
    assert {pod.name for pod in left.items} <= names


async def test_a_matching_orphan_is_adopted_instead_of_creating_a_pod(stage: Stage) -> None:
    pods, sets = stage.client.core_v1.pods("default"), stage.client.apps_v1.replicasets("default")
    await pods.create({"metadata": {"name": "lone"}, **_pod({"app": "web"})})

    await sets.create(replica_set("web", 2))
    await stage.wait(sets, "web", has_available(2))

    lone = await pods.get("lone")
    assert lone.metadata.ownerReferences[0].name == "web"
    assert len((await pods.list()).items) == 2


async def test_a_pod_that_no_longer_matches_is_released_and_replaced(stage: Stage) -> None:
    pods, sets = stage.client.core_v1.pods("default"), stage.client.apps_v1.replicasets("default")
    await sets.create(replica_set("web", 2))
    await stage.wait(sets, "web", has_available(2))
    taken = (await pods.list()).items[0]

    await pods.patch(taken.name, {"metadata": {"labels": {"app": "debug"}}})

    await stage.wait(pods, taken.name, lambda pod: pod and not pod.metadata.ownerReferences)
    await stage.wait(sets, "web", has_available(2))
    assert len((await pods.list(label_selector="app=web")).items) == 2


async def test_a_failed_pod_is_replaced(stage: Stage) -> None:
    pods, sets = stage.client.core_v1.pods("default"), stage.client.apps_v1.replicasets("default")
    await sets.create(replica_set("web", 1))
    await stage.wait(sets, "web", has_available(1))
    (lost,) = (await pods.list()).items

    await pods.patch_status(lost.name, {"status": {"phase": "Failed"}})

    await stage.wait(
        sets, "web", lambda one: has_available(1)(one) and len(stage.active(app="web")) == 2
    )


async def test_pods_that_are_refused_are_told_in_a_condition_and_an_event(stage: Stage) -> None:
    sets = stage.client.apps_v1.replicasets("default")
    quota = {"metadata": {"name": "none"}, "spec": {"hard": {"pods": "0"}}}
    quotas = stage.client.core_v1.resourcequotas("default")
    await quotas.create(quota)
    await quotas.patch_status("none", {"status": {"hard": {"pods": "0"}, "used": {"pods": "0"}}})

    await sets.create(replica_set("web", 3))

    failed = await stage.wait(sets, "web", lambda one: one and (one.status or {}).get("conditions"))
    assert failed is not None
    (condition,) = failed.status.conditions
    assert (condition.type, condition.reason) == ("ReplicaFailure", "FailedCreate")


def _pod(labels: dict[str, str]) -> dict[str, Any]:
    made = template(labels)
    return {"metadata": {"name": "lone", **made["metadata"]}, "spec": made["spec"]}


async def test_an_answer_that_was_lost_costs_no_pod_too_many_or_too_few(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server did what it was asked and died before it could say so."""
    send, lost = RestClient.send, Counter[str]()

    async def lossy(self: RestClient, request: Request) -> Any:
        answer = await send(self, request)
        is_about_pods = "/pods" in request.path and "/status" not in request.path
        own = self is stage.client.rest
        if own and is_about_pods and request.method in ("POST", "DELETE") and stage.plays:
            lost[request.method] += 1
            if lost[request.method] <= 3:
                raise ConnectionLost(request.path, "the server is gone")
        return answer

    monkeypatch.setattr(RestClient, "send", lossy)
    stage.plays = False
    sets = stage.client.apps_v1.replicasets("default")
    await sets.create(replica_set("web", 5))
    stage.plays = True
    await stage.wait(sets, "web", has_available(5))
    await sets.set_scale("web", 3)
    await stage.wait(sets, "web", has_available(3))

    alive: dict[str, KubeObject] = {}
    least = most = 0
    for old, new in stage.history:
        told = new or old
        assert told is not None
        alive.pop(told.uid, None)
        if new is not None and not new.metadata.deletionTimestamp:
            alive[new.uid] = new
        most = max(most, len(alive))
        least = min(least or len(alive), len(alive)) if most == 5 else 0
    assert (most, least, len(alive)) == (5, 3, 3)
    assert lost["POST"] >= 3
