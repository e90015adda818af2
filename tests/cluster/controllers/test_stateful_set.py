"""StatefulSets over the wire: numbered pods, one after the other, with their own storage."""

from __future__ import annotations

import asyncio
from typing import Any

from proreus.api.object import KubeObject
from tests.cluster.controllers.stage import Stage, finished, running, status_of, template

CONTROLLERS = ("statefulset", "garbage-collector", "pvc-protection")
LABELS = {"app": "db"}
DATA = {
    "metadata": {"name": "data"},
    "spec": {
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": "1Gi"}},
    },
}


def stateful_set(replicas: int, image: str = "db:1", **spec: Any) -> dict[str, Any]:
    return {
        "metadata": {"name": "db", "namespace": "default"},
        "spec": {
            "replicas": replicas,
            "serviceName": "peers",
            "selector": {"matchLabels": LABELS},
            "template": template(LABELS, image),
            **spec,
        },
    }


def has(ready: int, *, updated: int | None = None) -> Any:
    """Observed, and so many pods there and ready; of the new revision, or all."""

    def holds(obj: KubeObject | None) -> bool:
        status = status_of(obj)
        return bool(
            obj
            and status.get("observedGeneration") == obj.metadata.generation
            and status.get("replicas") == status.get("readyReplicas", 0) == ready
            and status.get("updatedReplicas", 0) == (ready if updated is None else updated)
        )

    return holds


async def pod_names(stage: Stage) -> list[str]:
    return sorted(pod.name for pod in (await stage.client.core_v1.pods("default").list()).items)


async def claim_names(stage: Stage) -> list[str]:
    claims = await stage.client.core_v1.persistentvolumeclaims("default").list()
    return sorted(claim.name for claim in claims.items)


async def births(stage: Stage) -> list[str]:
    return [new.name for old, new in await stage.history() if old is None and new is not None]


async def deaths(stage: Stage) -> list[str]:
    return [old.name for old, new in await stage.history() if old is not None and new is None]


async def test_pods_come_in_order_and_go_in_reverse(stage: Stage) -> None:
    sets = stage.client.apps_v1.statefulsets("default")
    await sets.create(stateful_set(3, volumeClaimTemplates=[DATA]))
    done = await stage.wait(sets, "db", has(3))
    assert await births(stage) == ["db-0", "db-1", "db-2"]
    assert done is not None
    assert done.status.currentRevision == done.status.updateRevision
    first = await stage.client.core_v1.pods("default").get("db-0")
    assert first.labels["controller-revision-hash"] == done.status.updateRevision
    assert (first.spec.hostname, first.spec.subdomain) == ("db-0", "peers")
    claims = ["data-db-0", "data-db-1", "data-db-2"]
    assert await claim_names(stage) == claims

    await sets.set_scale("db", 1)

    await stage.wait(sets, "db", has(1))
    assert await deaths(stage) == ["db-2", "db-1"]
    assert await claim_names(stage) == claims


async def test_a_pod_that_is_not_ready_holds_up_the_rest(stage: Stage) -> None:
    stage.plays = False
    sets, pods = stage.client.apps_v1.statefulsets("default"), stage.client.core_v1.pods("default")
    await sets.create(stateful_set(2))
    await stage.wait(pods, "db-0", bool)
    await stage.wait(sets, "db", lambda it: status_of(it).get("replicas") == 1)
    assert await pod_names(stage) == ["db-0"]

    await pods.patch_status("db-0", running(), type="strategic")

    await stage.wait(pods, "db-1", bool)


async def test_in_parallel_nobody_waits(stage: Stage) -> None:
    stage.plays = False
    sets = stage.client.apps_v1.statefulsets("default")

    await sets.create(stateful_set(4, podManagementPolicy="Parallel"))

    await stage.wait(sets, "db", lambda it: status_of(it).get("replicas") == 4)
    assert await pod_names(stage) == ["db-0", "db-1", "db-2", "db-3"]


async def test_a_failed_pod_is_made_again_under_its_name(stage: Stage) -> None:
    sets, pods = stage.client.apps_v1.statefulsets("default"), stage.client.core_v1.pods("default")
    await sets.create(stateful_set(1))
    await stage.wait(sets, "db", has(1))
    before = (await pods.get("db-0")).uid

    await pods.patch_status("db-0", finished("Failed"))

    await stage.wait(pods, "db-0", lambda it: it and it.uid != before)
    await stage.wait(sets, "db", has(1))


async def test_a_rolling_update_goes_down_to_the_partition_and_then_on(stage: Stage) -> None:
    sets, pods = stage.client.apps_v1.statefulsets("default"), stage.client.core_v1.pods("default")
    await sets.create(stateful_set(3))
    before = await stage.wait(sets, "db", has(3))
    assert before is not None
    parted = {"type": "RollingUpdate", "rollingUpdate": {"partition": 1}}

    await sets.patch("db", stateful_set(3, "db:2", updateStrategy=parted), type="merge")

    halfway = await stage.wait(sets, "db", has(3, updated=2))
    assert halfway is not None
    assert await deaths(stage) == ["db-2", "db-1"]
    assert halfway.status.currentRevision == before.status.currentRevision
    old = await pods.delete("db-0")
    again = await stage.wait(
        pods, "db-0", lambda it: it and it.uid != old.uid and it.status.phase == "Running"
    )
    assert again is not None
    assert again.spec.containers[0].image == "db:1"

    await sets.patch("db", {"spec": {"updateStrategy": {"rollingUpdate": {"partition": 0}}}})

    after = await stage.wait(sets, "db", has(3))
    assert after is not None
    assert after.status.currentRevision == after.status.updateRevision
    images = {pod.spec.containers[0].image for pod in (await pods.list()).items}
    assert images == {"db:2"}


async def test_no_more_pods_are_missing_in_an_update_than_may_be(stage: Stage) -> None:
    sets = stage.client.apps_v1.statefulsets("default")
    rolling = {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 2}}
    spec: dict[str, Any] = {"podManagementPolicy": "Parallel", "updateStrategy": rolling}
    await sets.create(stateful_set(5, **spec))
    await stage.wait(sets, "db", has(5))
    await stage.begin_history()

    await sets.patch("db", stateful_set(5, "db:2", **spec), type="merge")

    await stage.wait(sets, "db", has(5))
    ready, fewest = 5, 5
    for old, new in await stage.history():
        ready += _is_up(new) - _is_up(old)
        fewest = min(fewest, ready)
    assert fewest == 3


def _is_up(pod: KubeObject | None) -> int:
    found = (status_of(pod).get("conditions") or ()) if pod is not None else ()
    is_ready = any((one.type, one.status) == ("Ready", "True") for one in found)
    return int(is_ready and pod is not None and not pod.metadata.deletionTimestamp)


async def test_on_delete_a_pod_changes_only_when_somebody_deletes_it(stage: Stage) -> None:
    sets, pods = stage.client.apps_v1.statefulsets("default"), stage.client.core_v1.pods("default")
    strategy: dict[str, Any] = {"updateStrategy": {"type": "OnDelete"}}
    await sets.create(stateful_set(2, **strategy))
    await stage.wait(sets, "db", has(2))
    await sets.patch("db", stateful_set(2, "db:2", **strategy), type="merge")
    await stage.wait(sets, "db", has(2, updated=0))

    await pods.delete("db-1")

    await stage.wait(sets, "db", has(2, updated=1))
    images = [pod.spec.containers[0].image for pod in (await pods.list()).items]
    assert images == ["db:1", "db:2"]


async def test_going_back_to_a_template_takes_up_its_revision_again(stage: Stage) -> None:
    sets = stage.client.apps_v1.statefulsets("default")
    revisions = stage.client.apps_v1.controllerrevisions("default")
    await sets.create(stateful_set(1, revisionHistoryLimit=1))
    first = await stage.wait(sets, "db", has(1))
    assert first is not None
    for image in ("db:2", "db:3", "db:1"):
        await sets.patch("db", stateful_set(1, image), type="merge")
        await stage.wait(sets, "db", has(1))

    back = await sets.get("db")
    known = {one.name: one.revision for one in (await revisions.list()).items}

    assert back.status.updateRevision in known
    assert known[back.status.updateRevision] == max(known.values())
    await stage.wait(revisions, first.status.updateRevision, lambda it: it and it.revision > 3)


async def test_claims_go_with_what_the_policy_says(stage: Stage) -> None:
    sets = stage.client.apps_v1.statefulsets("default")
    claims = stage.client.core_v1.persistentvolumeclaims("default")
    policy = {"whenScaled": "Delete", "whenDeleted": "Delete"}
    wish = stateful_set(2, volumeClaimTemplates=[DATA], persistentVolumeClaimRetentionPolicy=policy)
    await sets.create(wish)
    await stage.wait(sets, "db", has(2))

    await sets.set_scale("db", 1)
    await claims.wait_deleted("data-db-1", timeout_s=60)
    assert await claim_names(stage) == ["data-db-0"]

    await sets.set_scale("db", 2)
    await stage.wait(sets, "db", has(2))
    assert await claim_names(stage) == ["data-db-0", "data-db-1"]

    await sets.delete("db", propagation="Background")
    for name in ("data-db-0", "data-db-1"):
        await claims.wait_deleted(name, timeout_s=60)


async def test_a_matching_orphan_is_adopted_if_it_has_the_right_name(stage: Stage) -> None:
    sets, pods = stage.client.apps_v1.statefulsets("default"), stage.client.core_v1.pods("default")
    for name in ("db-0", "stranger"):
        await pods.create({"metadata": {"name": name, "labels": LABELS}, "spec": _spec()})

    await sets.create(stateful_set(1))

    adopted = await stage.wait(pods, "db-0", lambda it: it and it.metadata.ownerReferences)
    assert adopted is not None
    assert adopted["metadata"]["ownerReferences"][0].name == "db"
    assert not (await pods.get("stranger")).metadata.ownerReferences
    mended = await stage.wait(
        pods, "db-0", lambda it: it and it.labels.get("apps.kubernetes.io/pod-index") == "0"
    )
    assert mended is not None


def _spec() -> dict[str, Any]:
    spec: dict[str, Any] = template(LABELS)["spec"]
    return spec


async def test_a_revision_whose_name_is_taken_gets_another(stage: Stage) -> None:
    """The name is made of the template alone: a set in another namespace shows it beforehand."""
    wish = stateful_set(1)
    elsewhere = stage.client.apps_v1.statefulsets("kube-public")
    await elsewhere.create({**wish, "metadata": {"name": "db"}})
    first = await stage.wait(elsewhere, "db", lambda it: status_of(it).get("updateRevision"))
    assert first is not None
    taken = first.status.updateRevision
    sets = stage.client.apps_v1.statefulsets("default")
    revisions = stage.client.apps_v1.controllerrevisions("default")
    await revisions.create({"metadata": {"name": taken}, "data": {"not": "ours"}, "revision": 1})

    await sets.create(wish)

    done = await stage.wait(sets, "db", has(1))
    assert done is not None
    assert done.status.collisionCount == 1
    assert done.status.updateRevision != taken
    assert (await revisions.get(taken)).data == {"not": "ours"}


async def test_what_happens_is_reported_in_events(stage: Stage) -> None:
    sets, events = stage.client.apps_v1.statefulsets("default"), stage.client.core_v1.events
    await sets.create(stateful_set(1, volumeClaimTemplates=[DATA]))
    await stage.wait(sets, "db", has(1))
    wanted = {
        "create Claim data-db-0 Pod db-0 in StatefulSet db success",
        "create Pod db-0 in StatefulSet db successful",
    }

    async with asyncio.timeout(60), events("default").watch() as watched:
        async for event in watched:
            if event.object.involvedObject.kind == "StatefulSet":
                wanted.discard(event.object.message)
            if not wanted:
                break


async def test_a_pod_that_no_longer_matches_is_let_go(stage: Stage) -> None:
    sets, pods = stage.client.apps_v1.statefulsets("default"), stage.client.core_v1.pods("default")
    await sets.create(stateful_set(1))
    await stage.wait(sets, "db", has(1))

    await pods.patch("db-0", {"metadata": {"labels": {"app": "other"}}})

    await stage.wait(pods, "db-0", lambda it: it and not it.metadata.ownerReferences)
    await pods.delete("db-0")
    await stage.wait(
        pods, "db-0", lambda it: it and it.labels["app"] == "db" and it.metadata.ownerReferences
    )


async def test_conditions_that_others_wrote_stay(stage: Stage) -> None:
    sets = stage.client.apps_v1.statefulsets("default")
    await sets.create(stateful_set(1))
    await stage.wait(sets, "db", has(1))

    condition = {"type": "Audited", "status": "True", "reason": "Test", "message": "by hand"}
    await sets.patch_status("db", {"status": {"conditions": [condition]}})
    await sets.set_scale("db", 2)

    found = await stage.wait(sets, "db", has(2))
    assert found is not None
    assert [one.type for one in found.status.conditions or ()] == ["Audited"]
