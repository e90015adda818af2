"""DaemonSets over the wire: one pod per fitting node, renewed a few at a time."""

from __future__ import annotations

from typing import Any

from proreus.api.object import KubeObject
from tests.cluster.controllers.stage import Stage, template, told_status

CONTROLLERS = ("daemonset", "node-lifecycle")


def daemon_set(image: str = "agent:1", **spec: Any) -> dict[str, Any]:
    labels = {"app": "agent"}
    return {
        "metadata": {"name": "agent", "namespace": "default"},
        "spec": {"selector": {"matchLabels": labels}, "template": template(labels, image, **spec)},
    }


async def add_node(stage: Stage, name: str, **spec: Any) -> None:
    node = {"metadata": {"name": name, "labels": {"name": name}}, "spec": spec}
    await stage.client.core_v1.nodes.create(node)
    ready = {"type": "Ready", "status": "True"}
    await stage.client.core_v1.nodes.patch_status(name, {"status": {"conditions": [ready]}})


def has(desired: int, updated: int) -> Any:
    def holds(obj: KubeObject | None) -> bool:
        status = told_status(obj)
        return bool(
            obj
            and status.get("observedGeneration") == obj.metadata.generation
            and status.get("desiredNumberScheduled") == status.get("numberAvailable", 0) == desired
            and status.get("updatedNumberScheduled", 0) == updated
        )

    return holds


async def test_every_fitting_node_gets_a_pod_and_new_ones_too(stage: Stage) -> None:
    sets, pods = stage.client.apps_v1.daemonsets("default"), stage.client.core_v1.pods("default")
    await add_node(stage, "n1")
    await add_node(stage, "n2", unschedulable=True)
    await add_node(stage, "n3", taints=[{"key": "gpu", "effect": "NoSchedule"}])
    await sets.create(daemon_set())
    await stage.wait(sets, "agent", has(2, 2))

    await add_node(stage, "n4")
    await stage.wait(sets, "agent", has(3, 3))

    await stage.client.core_v1.nodes.delete("n1")
    await stage.wait(sets, "agent", has(2, 2))
    assert len((await pods.list()).items) == 2


async def test_a_new_template_reaches_every_node(stage: Stage) -> None:
    sets, pods = stage.client.apps_v1.daemonsets("default"), stage.client.core_v1.pods("default")
    for number in range(3):
        await add_node(stage, f"n{number}")
    await sets.create(daemon_set())
    await stage.wait(sets, "agent", has(3, 3))

    await sets.patch("agent", daemon_set("agent:2"), type="merge")

    await stage.wait(sets, "agent", has(3, 3))
    images = {pod.spec.containers[0].image for pod in (await pods.list()).items}
    assert images == {"agent:2"}


async def test_a_node_that_no_longer_matches_loses_its_pod(stage: Stage) -> None:
    sets, pods = stage.client.apps_v1.daemonsets("default"), stage.client.core_v1.pods("default")
    await add_node(stage, "n1")
    await add_node(stage, "n2")
    await sets.create(daemon_set(nodeSelector={"name": "n2"}))
    await stage.wait(sets, "agent", has(1, 1))

    await stage.client.core_v1.nodes.patch("n2", {"metadata": {"labels": {"name": "x"}}})

    await stage.wait(sets, "agent", has(0, 0))
    assert not (await pods.list()).items
