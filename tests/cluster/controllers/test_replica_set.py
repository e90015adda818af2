"""ReplicaSets and ReplicationControllers over the wire: as many pods as wanted, adopted, released,
replaced."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

import pytest

from proreus.api.object import KubeObject
from proreus.client.resources.resource_client import ResourceClient
from proreus.client.rest.client import RestClient
from proreus.client.rest.request import RestRequest
from proreus.net.client.transport_error import ConnectionLost
from tests.cluster.controllers.stage import Stage, status_of, template
from tests.following import wait_for_list

CONTROLLERS = ("replicaset", "replicationcontroller")


@dataclass(frozen=True, slots=True)
class Kind:
    """One of the two kinds that do the same."""

    name: str

    def api(self, stage: Stage) -> ResourceClient:
        is_old = self.name == "ReplicationController"
        name = "replicationcontrollers" if is_old else "replicasets.apps"
        return stage.client.resource(name)("default")

    def make(self, name: str, replicas: int, **labels: str) -> dict[str, Any]:
        chosen = {"app": name, **labels}
        is_old = self.name == "ReplicationController"
        return {
            "metadata": {"name": name, "namespace": "default"},
            "spec": {
                "replicas": replicas,
                "selector": chosen if is_old else {"matchLabels": chosen},
                "template": template(chosen),
            },
        }


@pytest.fixture(params=["ReplicaSet", "ReplicationController"])
def kind(request: pytest.FixtureRequest) -> Kind:
    return Kind(request.param)


def has_available(count: int) -> Any:
    def holds(obj: KubeObject | None) -> bool:
        status = status_of(obj)
        return (status.get("replicas"), status.get("availableReplicas", 0)) == (count, count)

    return holds


async def test_a_replica_set_gets_its_pods_and_gives_up_those_too_many(
    stage: Stage, kind: Kind
) -> None:
    sets = kind.api(stage)
    await sets.create(kind.make("web", 12))
    await stage.wait(sets, "web", has_available(12))
    pods = await stage.client.core_v1.pods("default").list(label_selector="app=web")
    assert len(pods.items) == 12
    assert {pod["metadata"]["ownerReferences"][0].kind for pod in pods.items} == {kind.name}

    await sets.set_scale("web", 5)

    await stage.wait(sets, "web", has_available(5))
    left = await stage.client.core_v1.pods("default").list(label_selector="app=web")
    assert len(left.items) == 5
    names = {pod.name for pod in pods.items}
    assert {pod.name for pod in left.items} <= names


async def test_a_matching_orphan_is_adopted_instead_of_creating_a_pod(
    stage: Stage, kind: Kind
) -> None:
    pods, sets = stage.client.core_v1.pods("default"), kind.api(stage)
    await pods.create({"metadata": {"name": "lone"}, **_pod({"app": "web"})})

    await sets.create(kind.make("web", 2))
    await stage.wait(sets, "web", has_available(2))

    lone = await pods.get("lone")
    assert lone["metadata"]["ownerReferences"][0].name == "web"
    assert len((await pods.list()).items) == 2


async def test_a_pod_that_no_longer_matches_is_released_and_replaced(
    stage: Stage, kind: Kind
) -> None:
    pods, sets = stage.client.core_v1.pods("default"), kind.api(stage)
    await sets.create(kind.make("web", 2))
    await stage.wait(sets, "web", has_available(2))
    taken = (await pods.list()).items[0]

    await pods.patch(taken.name, {"metadata": {"labels": {"app": "debug"}}})

    await stage.wait(pods, taken.name, lambda pod: pod and not pod.metadata.ownerReferences)
    await stage.wait_active(2, app="web")


async def test_a_failed_pod_is_replaced(stage: Stage, kind: Kind) -> None:
    pods, sets = stage.client.core_v1.pods("default"), kind.api(stage)
    await sets.create(kind.make("web", 1))
    await stage.wait(sets, "web", has_available(1))
    (lost,) = (await pods.list()).items

    await pods.patch_status(lost.name, {"status": {"phase": "Failed"}})

    def is_replaced(found: list[KubeObject]) -> bool:
        phases = {pod.name: status_of(pod).get("phase") for pod in found}
        return phases.pop(lost.name, "") == "Failed" and list(phases.values()) == ["Running"]

    await wait_for_list(pods, is_replaced)
    await stage.wait(sets, "web", has_available(1))


async def test_pods_that_are_refused_are_reported_in_a_condition_and_an_event(
    stage: Stage, kind: Kind
) -> None:
    sets = kind.api(stage)
    quota = {"metadata": {"name": "none"}, "spec": {"hard": {"pods": "0"}}}
    quotas = stage.client.core_v1.resourcequotas("default")
    await quotas.create(quota)
    await quotas.patch_status("none", {"status": {"hard": {"pods": "0"}, "used": {"pods": "0"}}})

    await sets.create(kind.make("web", 3))

    failed = await stage.wait(sets, "web", lambda one: one and (one.status or {}).get("conditions"))
    assert failed is not None
    (condition,) = failed.status.conditions
    assert (condition.type, condition.reason) == ("ReplicaFailure", "FailedCreate")
    assert "exceeded quota" in condition.message
    events = stage.client.core_v1.events("default")
    await wait_for_list(events, lambda found: "FailedCreate" in {event.reason for event in found})

    await sets.set_scale("web", 0)

    await stage.wait(sets, "web", lambda one: one and not status_of(one).get("conditions"))


async def test_every_label_of_the_selector_counts(stage: Stage, kind: Kind) -> None:
    pods, sets = stage.client.core_v1.pods("default"), kind.api(stage)
    await pods.create({"metadata": {"name": "lone"}, **_pod({"app": "web"})})

    await sets.create(kind.make("web", 1, tier="front"))
    found = await stage.wait(sets, "web", has_available(1))

    assert found is not None
    assert found.status.fullyLabeledReplicas == found.status.readyReplicas == 1
    assert found.status.observedGeneration == found.metadata.generation
    assert not (await pods.get("lone")).metadata.ownerReferences


async def test_a_replication_controller_selects_by_its_template_if_it_does_not_say(
    stage: Stage,
) -> None:
    kind = Kind("ReplicationController")
    pods, sets = stage.client.core_v1.pods("default"), kind.api(stage)
    made = kind.make("web", 2)
    del made["spec"]["selector"]

    await sets.create(made)
    await stage.wait(sets, "web", has_available(2))

    scale = await sets.get_scale("web")
    assert (scale.status.selector, scale.status.replicas) == ("app=web", 2)
    owners = [pod["metadata"]["ownerReferences"][0] for pod in (await pods.list()).items]
    assert [(one.kind, one.apiVersion) for one in owners] == [("ReplicationController", "v1")] * 2


def _pod(labels: dict[str, str]) -> dict[str, Any]:
    made = template(labels)
    return {"metadata": {"name": "lone", **made["metadata"]}, "spec": made["spec"]}


async def test_an_answer_that_was_lost_costs_no_pod_too_many_or_too_few(
    stage: Stage, kind: Kind, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server did what it was asked and died before it could say so."""
    send, lost = RestClient.send, Counter[str]()

    async def lossy(self: RestClient, request: RestRequest) -> Any:
        answer = await send(self, request)
        is_about_pods = "/pods" in request.path and "/status" not in request.path
        own = self.config.host == stage.client.config.host
        if own and is_about_pods and request.method in ("POST", "DELETE"):
            lost[request.method] += 1
            if lost[request.method] <= 3:
                raise ConnectionLost(request.path, "the server is gone")
        return answer

    monkeypatch.setattr(RestClient, "send", lossy)
    sets = kind.api(stage)
    await sets.create(kind.make("web", 5))
    await stage.wait(sets, "web", has_available(5))
    await sets.set_scale("web", 3)
    await stage.wait(sets, "web", has_available(3))

    counts = [len(alive) async for alive in stage.alive_over_time({})]
    most, least = max(counts), min(counts[counts.index(5) :])
    assert (most, least, counts[-1]) == (5, 3, 3)
    assert lost["POST"] >= 3
