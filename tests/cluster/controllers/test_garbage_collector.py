"""Owners and what they own: background, foreground, orphans; built-in kinds and custom ones."""

from __future__ import annotations

from typing import Any

import pytest

from proreus.api.object import KubeObject
from proreus.client.resources.resource_client import ResourceClient
from tests.cluster.controllers.stage import Stage, deployment

CONTROLLERS = ("replicaset", "deployment", "garbage-collector")


def config_map(name: str, *owners: KubeObject, blocks: bool = False) -> dict[str, Any]:
    references = [
        {
            "apiVersion": owner.api_version,
            "kind": owner.kind,
            "name": owner.name,
            "uid": owner.uid,
            "blockOwnerDeletion": blocks,
        }
        for owner in owners
    ]
    return {"metadata": {"name": name, "ownerReferences": references}}


def maps(stage: Stage) -> ResourceClient:
    return stage.client.core_v1.configmaps("default")


async def test_a_deleted_deployment_takes_its_replica_sets_and_pods_along(stage: Stage) -> None:
    deployments = stage.client.apps_v1.deployments("default")
    await deployments.create(deployment("web", 3))
    await stage.wait(
        deployments, "web", lambda one: one and (one.status or {}).get("availableReplicas") == 3
    )
    (owned,) = (await stage.client.apps_v1.replicasets("default").list()).items
    pods = (await stage.client.core_v1.pods("default").list()).items

    await deployments.delete("web", propagation="Background")

    await stage.client.apps_v1.replicasets("default").wait_deleted(owned.name, timeout_s=60)
    for pod in pods:
        await stage.client.core_v1.pods("default").wait_deleted(pod.name, timeout_s=60)


async def test_a_dependent_with_another_owner_stays_and_forgets_the_dead_one(stage: Stage) -> None:
    one, two = [await maps(stage).create(config_map(name)) for name in ("one", "two")]
    await maps(stage).create(config_map("child", one, two))

    await maps(stage).delete("one")

    child = await stage.wait(
        maps(stage), "child", lambda it: it and len(it.metadata.ownerReferences or ()) == 1
    )
    assert child is not None
    assert child["metadata"]["ownerReferences"][0].name == "two"


async def test_an_object_made_for_an_owner_that_never_was_goes(stage: Stage) -> None:
    one = await maps(stage).create(config_map("one"))
    await maps(stage).delete("one")
    await maps(stage).wait_deleted("one", timeout_s=60)

    await maps(stage).create(config_map("late", one))

    await maps(stage).wait_deleted("late", timeout_s=60)


async def test_what_a_cluster_scoped_object_owned_goes_from_every_namespace(stage: Stage) -> None:
    nodes = stage.client.core_v1.nodes
    elsewhere = stage.client.core_v1.configmaps("kube-system")
    gone = await nodes.create({"metadata": {"name": "gone"}})
    stays = await nodes.create({"metadata": {"name": "stays"}})
    await elsewhere.create(config_map("of-gone", gone))
    await elsewhere.create(config_map("of-both", gone, stays))

    await nodes.delete("gone")

    await elsewhere.wait_deleted("of-gone", timeout_s=60)
    await elsewhere.create(config_map("late", gone))
    await elsewhere.wait_deleted("late", timeout_s=60)
    assert (await elsewhere.get("of-both")).name == "of-both"


async def test_foreground_deletion_keeps_the_owner_until_its_dependents_are_gone(
    stage: Stage,
) -> None:
    owner = await maps(stage).create(config_map("owner"))
    child = config_map("child", owner, blocks=True)
    child["metadata"]["finalizers"] = ["example.com/hold"]
    await maps(stage).create(child)

    await maps(stage).delete("owner", propagation="Foreground")
    await stage.wait(maps(stage), "child", lambda it: it and it.metadata.deletionTimestamp)

    held = await maps(stage).get("owner")
    assert held.metadata.finalizers == ["foregroundDeletion"]
    await maps(stage).patch("child", {"metadata": {"finalizers": None}})
    await maps(stage).wait_deleted("owner", timeout_s=60)


@pytest.mark.parametrize("size", [1, 2, 3])
async def test_objects_that_own_each_other_in_a_circle_go_in_the_foreground(
    stage: Stage, size: int
) -> None:
    made = [await maps(stage).create(config_map(f"circle-{number}")) for number in range(size)]
    for one, owner in zip(made, [made[-1], *made], strict=False):
        patch = config_map(one.name, owner, blocks=True)
        await maps(stage).patch(one.name, patch)
    bystander = await maps(stage).create(config_map("bystander"))
    await maps(stage).create(config_map("leaf", made[-1], blocks=True))
    await maps(stage).create(config_map("kept", made[-1], bystander, blocks=True))

    await maps(stage).delete("circle-0", propagation="Foreground")

    for name in (*(one.name for one in made), "leaf"):
        await maps(stage).wait_deleted(name, timeout_s=60)

    def has_one_owner(kept: KubeObject | None) -> bool:
        assert kept is not None
        return [one.name for one in kept.metadata.ownerReferences or ()] == ["bystander"]

    await stage.wait(maps(stage), "kept", has_one_owner)


async def test_orphans_stay_without_their_owner(stage: Stage) -> None:
    owner = await maps(stage).create(config_map("owner"))
    await maps(stage).create(config_map("child", owner))
    await _collector_is_up_to_date(stage)  # or it does not know of the child that it must part

    await maps(stage).delete("owner", propagation="Orphan")

    await maps(stage).wait_deleted("owner", timeout_s=60)
    child = await maps(stage).get("child")
    assert not child.metadata.ownerReferences


async def _collector_is_up_to_date(stage: Stage) -> None:
    """It has seen all ConfigMaps up to one that it has collected."""
    absent = await maps(stage).create(config_map("absent"))
    await maps(stage).delete("absent")
    await maps(stage).create(config_map("litter", absent))
    await maps(stage).wait_deleted("litter", timeout_s=60)


async def test_custom_resources_own_and_are_owned(stage: Stage) -> None:
    definitions = stage.client.resource("customresourcedefinitions.apiextensions.k8s.io")
    await definitions.create(_definition())
    await definitions.wait_for("widgets.example.com", "condition=Established", timeout_s=60)
    widgets = stage.client.resource("widgets.v1.example.com")("default")
    parent = await widgets.create({"metadata": {"name": "parent"}})
    child: dict[str, Any] = config_map("child", parent)
    await widgets.create(child)
    await maps(stage).create(config_map("child", parent))

    await widgets.delete("parent", propagation="Background")

    await widgets.wait_deleted("child", timeout_s=60)
    await maps(stage).wait_deleted("child", timeout_s=60)


def _definition() -> dict[str, Any]:
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {
        "name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema},
    }  # fmt: skip
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": "widgets", "kind": "Widget"},
            "versions": [version],
        },
    }
