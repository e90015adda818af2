"""A node that falls silent is not trusted any more, and its pods go; one that comes back is."""

from __future__ import annotations

import asyncio
from typing import Any

from proreus.aio.clock import SystemClock
from proreus.aio.tasks import background
from proreus.api.object import KubeObject
from proreus.api.values.timestamp import format_micro_time, format_time
from proreus.cluster.controllers import CONTROLLERS as ALL
from proreus.cluster.controllers import run_controllers
from tests.cluster.controllers.stage import Stage
from tests.hurried_clock import HurriedClock

CONTROLLERS: tuple[str, ...] = ()
HURRY = 25
UNREACHABLE = "node.kubernetes.io/unreachable"


def readiness(node: KubeObject | None) -> str:
    conditions = ((node.get("status") or {}).get("conditions") or ()) if node else ()
    return str(next((c["status"] for c in conditions if c["type"] == "Ready"), ""))


def taints(node: KubeObject | None) -> set[tuple[str, str]]:
    found = (node.spec or {}).get("taints") or () if node else ()
    return {(taint["key"], taint["effect"]) for taint in found}


def ready() -> dict[str, Any]:
    now = format_time(SystemClock().now())
    condition = {"type": "Ready", "status": "True", "reason": "KubeletReady",
                 "lastHeartbeatTime": now, "lastTransitionTime": now}  # fmt: skip
    return {"status": {"conditions": [condition]}}


async def beat(stage: Stage) -> None:
    """As a kubelet does."""
    leases = stage.client.coordination_v1.leases("kube-node-lease")
    spec = {"holderIdentity": "n", "leaseDurationSeconds": 40,
            "renewTime": format_micro_time(SystemClock().now())}  # fmt: skip
    lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
             "metadata": {"name": "n"}, "spec": spec}  # fmt: skip
    await leases.apply(lease, force=True)
    await stage.client.core_v1.nodes.patch_status("n", ready(), type="strategic")


async def keep_beating(stage: Stage) -> None:
    """Again and again: in the controller's hurry one beat does not last on a slow machine."""
    while True:
        await beat(stage)
        await asyncio.sleep(0.2)


async def test_a_pod_leaves_a_node_once_its_toleration_of_a_taint_has_run_out(
    stage: Stage,
) -> None:
    nodes, pods = stage.client.core_v1.nodes, stage.client.core_v1.pods("default")
    await nodes.create({"metadata": {"name": "n"}})
    await beat(stage)
    drain = {"key": "drain", "effect": "NoExecute"}
    brief = {**drain, "operator": "Exists", "tolerationSeconds": 20}
    spec = {"containers": [{"name": "c", "image": "i"}], "tolerations": [brief]}
    await pods.create({"metadata": {"name": "p"}, "spec": {**spec, "nodeName": "n"}})
    some = {"node-lifecycle": ALL["node-lifecycle"]}

    async with (
        background(run_controllers(stage.client, HurriedClock(HURRY), controllers=some)),
        background(keep_beating(stage)),
    ):
        await stage.wait(nodes, "n", lambda it: readiness(it) == "True" and not taints(it))
        await nodes.patch("n", {"spec": {"taints": [drain]}})

        await pods.wait_for("p", lambda it: bool(it.metadata.deletionTimestamp), timeout_s=60)


async def test_a_silent_node_is_unknown_loses_its_pods_and_can_come_back(stage: Stage) -> None:
    stage.plays = False
    nodes, pods = stage.client.core_v1.nodes, stage.client.core_v1.pods("default")
    await nodes.create({"metadata": {"name": "n"}})
    await beat(stage)
    patient = [{"key": UNREACHABLE, "operator": "Exists", "effect": "NoExecute"}]
    hasty = [{**patient[0], "tolerationSeconds": 0}]
    for name, tolerations in (("patient", patient), ("hasty", hasty)):
        spec = {"containers": [{"name": "c", "image": "i"}], "tolerations": tolerations}
        await pods.create({"metadata": {"name": name}, "spec": spec})
        await pods.bind(name, "n")
    running = {"status": {"phase": "Running", **ready()["status"]}}
    await pods.patch_status("patient", running, type="strategic")
    some = {"node-lifecycle": ALL["node-lifecycle"]}

    async with background(run_controllers(stage.client, HurriedClock(HURRY), controllers=some)):
        async with background(keep_beating(stage)):
            await stage.wait(nodes, "n", lambda it: readiness(it) == "True" and not taints(it))
        silent = await nodes.wait_for("n", lambda it: readiness(it) == "Unknown", timeout_s=60)
        await nodes.wait_for("n", lambda it: (UNREACHABLE, "NoExecute") in taints(it), timeout_s=60)
        await pods.wait_for("hasty", lambda it: bool(it.metadata.deletionTimestamp), timeout_s=60)
        staying = await pods.wait_for("patient", lambda it: readiness(it) == "False", timeout_s=60)

        async with background(keep_beating(stage)):
            await stage.wait(nodes, "n", lambda it: readiness(it) == "True" and not taints(it))

    assert silent is not None
    (condition,) = [c for c in silent.status.conditions or () if c["type"] == "Ready"]
    assert condition.reason == "NodeStatusUnknown"
    assert staying is not None
    assert not staying.metadata.deletionTimestamp
