"""A node refuses pods that it has no room for; their owners make others until there is some."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from proreus.aio.clock import SystemClock
from proreus.aio.tasks import background
from proreus.client import Client, KubeObject
from proreus.cluster.controllers import CONTROLLERS, run_controllers
from proreus.cluster.kubelet.kubelet import Kubelet

NODE = "node-1"


@pytest_asyncio.fixture
async def node(client: Client) -> AsyncIterator[str]:
    async with background(Kubelet(client, SystemClock(), [NODE]).run()):
        await client.core_v1.nodes.wait_for(NODE, "condition=Ready", timeout_s=60)
        yield NODE


def pod(name: str, **container: Any) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default"},
        "spec": spec(**container),
    }


def spec(**container: Any) -> dict[str, Any]:
    return {"nodeName": NODE, "containers": [{"name": "c", "image": "i", **container}]}


PORT = [{"containerPort": 21017, "hostPort": 21017}]


async def ended(client: Client, name: str) -> KubeObject:
    found = await client.core_v1.pods("default").wait_for(
        name, lambda pod: pod is not None and pod.status.phase == "Failed", timeout_s=60
    )
    assert found is not None
    return found


async def test_a_rejected_pod_has_failed_with_the_reason_and_an_event_reports_it(
    client: Client, node: str
) -> None:
    pods = client.core_v1.pods("default")
    await pods.create(pod("first", ports=PORT))
    await pods.wait_for("first", "condition=Ready", timeout_s=60)

    await pods.create(pod("second", ports=PORT))
    await pods.create(pod("hungry", resources={"requests": {"cpu": "600"}}))

    second, hungry = await ended(client, "second"), await ended(client, "hungry")
    assert second.status.reason == "NodePorts"
    assert second.status.message.startswith("Pod was rejected: Predicate NodePorts failed: ")
    assert hungry.status.reason == "OutOfcpu"
    assert hungry.status.message.endswith("cpu, requested: 600000, used: 0, capacity: 16000")
    async with asyncio.timeout(60), client.core_v1.events("default").watch() as events:
        async for event in events:  # those that were come first
            if event.type != "BOOKMARK" and event.object.reason == "NodePorts":
                assert event.object.involvedObject.name == "second"
                break
    for name in ("second", "hungry"):
        await pods.delete(name)
        await pods.wait_deleted(name, timeout_s=60)


async def test_a_label_that_was_just_given_counts(client: Client, node: str) -> None:
    pods = client.core_v1.pods("default")
    await client.core_v1.nodes.patch(node, {"metadata": {"labels": {"disk": "ssd"}}})

    picky, wrong = pod("picky"), pod("wrong")
    picky["spec"]["nodeSelector"] = {"disk": "ssd"}
    wrong["spec"]["nodeSelector"] = {"disk": "tape"}
    for wanted in (picky, wrong):
        await pods.create(wanted)

    await pods.wait_for("picky", "condition=Ready", timeout_s=60)
    assert (await ended(client, "wrong")).status.reason == "NodeAffinity"


async def test_a_pod_of_a_stateful_set_is_made_again_until_its_node_takes_it(
    client: Client, node: str
) -> None:
    pods = client.core_v1.pods("default")
    await pods.create(pod("first", ports=PORT))
    await pods.wait_for("first", "condition=Ready", timeout_s=60)
    labels = {"app": "set"}
    content = {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {"name": "set", "namespace": "default"},
        "spec": {
            "serviceName": "set",
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": spec(ports=PORT)},
        },
    }
    wanted = {"statefulset": CONTROLLERS["statefulset"]}
    async with background(run_controllers(client, SystemClock(), controllers=wanted)):
        await client.apps_v1.statefulsets("default").create(content)
        rejected: list[str] = []
        async with asyncio.timeout(60), pods.watch(label_selector="app=set") as events:
            async for event in events:
                if event.type == "MODIFIED" and event.object.status.phase == "Failed":
                    rejected.append(event.object.uid)
                if event.type == "DELETED" and len(set(rejected)) >= 2:
                    break

        await pods.delete("first")
        running = await pods.wait_for("set-0", "condition=Ready", timeout_s=60)

    assert running is not None
    assert running.uid not in rejected


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
async def test_a_pod_that_is_over_takes_no_room(client: Client, node: str, phase: str) -> None:
    pods = client.core_v1.pods("default")
    over = pod("over", ports=PORT)
    over["spec"]["restartPolicy"] = "Never"
    code = "0" if phase == "Succeeded" else "1"
    over["metadata"]["annotations"] = {
        "proreus.dev/exit-after": "0s",
        "proreus.dev/exit-code": code,
    }
    await pods.create(over)
    await pods.wait_for(
        "over", lambda pod: pod is not None and pod.status.phase == phase, timeout_s=60
    )

    await pods.create(pod("next", ports=PORT))

    await pods.wait_for("next", "condition=Ready", timeout_s=60)
