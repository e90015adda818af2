"""DaemonSets over the wire: one pod per fitting node, renewed a few at a time."""

from __future__ import annotations

from typing import Any

from proreus.api.frozen import thaw
from proreus.api.object import KubeObject
from proreus.api.wire import json
from tests.cluster.controllers.stage import Stage, finished, status_of, template

CONTROLLERS = ("daemonset", "node-lifecycle")


def daemon_set(
    image: str = "agent:1", strategy: dict[str, Any] | None = None, **spec: Any
) -> dict[str, Any]:
    labels = {"app": "agent"}
    return {
        "metadata": {"name": "agent", "namespace": "default"},
        "spec": {
            "selector": {"matchLabels": labels},
            "template": template(labels, image, **spec),
            **({"updateStrategy": strategy} if strategy else {}),
        },
    }


async def add_node(stage: Stage, name: str, **spec: Any) -> None:
    node = {"metadata": {"name": name, "labels": {"name": name}}, "spec": spec}
    await stage.client.core_v1.nodes.create(node)
    ready = {"type": "Ready", "status": "True"}
    await stage.client.core_v1.nodes.patch_status(name, {"status": {"conditions": [ready]}})


def has(desired: int, updated: int) -> Any:
    def holds(obj: KubeObject | None) -> bool:
        status = status_of(obj)
        return bool(
            obj
            and status.get("observedGeneration") == obj.metadata.generation
            and status.get("desiredNumberScheduled") == status.get("numberAvailable", 0) == desired
            and status.get("updatedNumberScheduled", 0) == updated
        )

    return holds


async def test_every_fitting_node_gets_a_pod_and_new_ones_too(stage: Stage) -> None:
    sets = stage.client.apps_v1.daemonsets("default")
    await add_node(stage, "n1")
    await add_node(stage, "n2", unschedulable=True)
    await add_node(stage, "n3", taints=[{"key": "gpu", "effect": "NoSchedule"}])
    await sets.create(daemon_set())
    await stage.wait(sets, "agent", has(2, 2))

    await add_node(stage, "n4")
    await stage.wait(sets, "agent", has(3, 3))

    await stage.client.core_v1.nodes.delete("n1")
    await stage.wait(sets, "agent", has(2, 2))
    await stage.wait_active(2)


async def test_a_new_template_reaches_every_node(stage: Stage) -> None:
    sets = stage.client.apps_v1.daemonsets("default")
    for number in range(3):
        await add_node(stage, f"n{number}")
    await sets.create(daemon_set())
    await stage.wait(sets, "agent", has(3, 3))

    await sets.patch("agent", daemon_set("agent:2"), type="merge")

    await stage.wait(sets, "agent", has(3, 3))
    images = {pod.spec.containers[0].image for pod in await stage.active()}
    assert images == {"agent:2"}


async def test_a_node_that_no_longer_matches_loses_its_pod(stage: Stage) -> None:
    sets = stage.client.apps_v1.daemonsets("default")
    await add_node(stage, "n1")
    await add_node(stage, "n2")
    await sets.create(daemon_set(nodeSelector={"name": "n2"}))
    await stage.wait(sets, "agent", has(1, 1))

    await stage.client.core_v1.nodes.patch("n2", {"metadata": {"labels": {"name": "x"}}})

    await stage.wait(sets, "agent", has(0, 0))
    await stage.wait_active(0)


async def test_a_tainted_node_keeps_its_pod_or_loses_it_as_the_taint_says(stage: Stage) -> None:
    sets, nodes = stage.client.apps_v1.daemonsets("default"), stage.client.core_v1.nodes
    await add_node(stage, "n1")
    await add_node(stage, "n2")
    await sets.create(daemon_set())
    await stage.wait(sets, "agent", has(2, 2))

    await nodes.patch("n1", {"spec": {"taints": [{"key": "gpu", "effect": "NoSchedule"}]}})
    kept = await stage.wait(
        sets, "agent", lambda it: status_of(it).get("desiredNumberScheduled") == 1
    )
    assert kept is not None
    assert kept.status.numberMisscheduled == 1

    await nodes.patch("n1", {"spec": {"taints": [{"key": "gpu", "effect": "NoExecute"}]}})
    await stage.wait(sets, "agent", lambda it: status_of(it).get("numberMisscheduled") == 0)


async def test_with_surge_no_node_is_ever_without_a_ready_pod(stage: Stage) -> None:
    sets = stage.client.apps_v1.daemonsets("default")
    surge = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}
    for number in range(3):
        await add_node(stage, f"n{number}")
    await sets.create(daemon_set(strategy=surge))
    await stage.wait(sets, "agent", has(3, 3))
    await stage.begin_history()

    await sets.patch("agent", daemon_set("agent:2", surge), type="merge")

    await stage.wait(sets, "agent", has(3, 3))
    ready, fewest, most = 3, 3, 3
    for old, new in await stage.history():
        ready += _is_up(new) - _is_up(old)
        fewest, most = min(fewest, ready), max(most, ready)
    assert (fewest, most) == (3, 4)


def _is_up(pod: KubeObject | None) -> int:
    found = (status_of(pod).get("conditions") or ()) if pod is not None else ()
    is_ready = any((one.type, one.status) == ("Ready", "True") for one in found)
    return int(is_ready and pod is not None and not pod.metadata.deletionTimestamp)


async def test_on_delete_a_pod_changes_only_when_somebody_deletes_it(stage: Stage) -> None:
    sets, pods = stage.client.apps_v1.daemonsets("default"), stage.client.core_v1.pods("default")
    for number in range(2):
        await add_node(stage, f"n{number}")
    await sets.create(daemon_set(strategy={"type": "OnDelete"}))
    await stage.wait(sets, "agent", has(2, 2))
    await sets.patch("agent", daemon_set("agent:2", {"type": "OnDelete"}), type="merge")
    await stage.wait(sets, "agent", has(2, 0))

    await pods.delete((await pods.list()).items[0].name)

    await stage.wait(sets, "agent", has(2, 1))


async def test_every_template_has_a_revision_and_old_ones_go(stage: Stage) -> None:
    sets = stage.client.apps_v1.daemonsets("default")
    revisions = stage.client.apps_v1.controllerrevisions("default")
    await add_node(stage, "n1")
    wish = daemon_set()
    wish["spec"]["revisionHistoryLimit"] = 1
    await sets.create(wish)
    await stage.wait(sets, "agent", has(1, 1))
    (first,) = (await revisions.list()).items
    (pod,) = await stage.active(app="agent")
    assert first.name == f"agent-{pod.labels['controller-revision-hash']}"

    for image in ("agent:2", "agent:3"):
        await sets.patch("agent", daemon_set(image), type="merge")
        await stage.wait(sets, "agent", has(1, 1))

    await revisions.wait_deleted(first.name, timeout_s=60)
    assert sorted(one.revision for one in (await revisions.list()).items) == [2, 3]


async def test_a_revision_has_the_bytes_that_others_make_of_its_template(stage: Stage) -> None:
    """Kubernetes' own tools find the present revision by them: compact, with keys in order."""
    sets = stage.client.apps_v1.daemonsets("default")
    revisions = stage.client.apps_v1.controllerrevisions("default")
    await add_node(stage, "n1")
    made = await sets.create(daemon_set(nodeSelector={"name": "n1"}, dnsPolicy="Default"))

    await stage.wait(sets, "agent", has(1, 1))

    (revision,) = (await revisions.list()).items
    template = {**thaw(made.spec.template), "$patch": "replace"}
    assert json.encode(thaw(revision["data"])) == json.canonical({"spec": {"template": template}})


async def test_a_failed_pod_is_replaced(stage: Stage) -> None:
    sets, pods = stage.client.apps_v1.daemonsets("default"), stage.client.core_v1.pods("default")
    await add_node(stage, "n1")
    await sets.create(daemon_set())
    await stage.wait(sets, "agent", has(1, 1))
    (broken,) = await stage.active(app="agent")

    await pods.patch_status(broken.name, finished("Failed"))

    await pods.wait_deleted(broken.name, timeout_s=60)
    await stage.wait(sets, "agent", has(1, 1))


async def test_conditions_that_others_wrote_stay(stage: Stage) -> None:
    sets = stage.client.apps_v1.daemonsets("default")
    await add_node(stage, "n1")
    await sets.create(daemon_set())
    await stage.wait(sets, "agent", has(1, 1))

    condition = {"type": "Audited", "status": "True", "reason": "Test", "message": "by hand"}
    await sets.patch_status("agent", {"status": {"conditions": [condition]}})
    await add_node(stage, "n2")

    found = await stage.wait(sets, "agent", has(2, 2))
    assert found is not None
    assert [one.type for one in found.status.conditions or ()] == ["Audited"]
