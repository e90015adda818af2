"""Nodes appear, pods run on them and end in good order, over the wire."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from typing import Any

import pytest_asyncio

from proreus.aio.clock import SystemClock
from proreus.aio.tasks import background
from proreus.client import Client, KubeObject
from proreus.cluster.kubelet.kubelet import Kubelet
from proreus.cluster.kubelet.settings import node_names
from proreus.server.app import ApiServer
from proreus.server.config import ServerConfig

NODES = node_names(3)


@pytest_asyncio.fixture
async def server() -> AsyncIterator[ApiServer]:
    """One that leaves it to the kubelet to refuse what is larger than its node."""
    usual = ServerConfig()
    off = (*usual.admission.disable, "PodResizeValidator")
    admission = replace(usual.admission, disable=off)
    async with ApiServer(replace(usual, admission=admission)) as running:
        yield running


@pytest_asyncio.fixture
async def nodes(client: Client) -> AsyncIterator[list[str]]:
    async with background(Kubelet(client, SystemClock(), NODES).run()):
        for name in NODES:
            await client.core_v1.nodes.wait_for(name, "condition=Ready", timeout_s=60)
        yield NODES


def pod(name: str, node: str, **annotations: str) -> dict[str, Any]:
    said = {f"proreus.dev/{key.replace('_', '-')}": value for key, value in annotations.items()}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default", "annotations": said},
        "spec": {"nodeName": node, "containers": [{"name": "c", "image": "i"}]},
    }


def in_phase(phase: str) -> Callable[[KubeObject | None], bool]:
    return lambda found: found is not None and found.status.phase == phase


async def until(client: Client, name: str, met: Callable[[KubeObject | None], bool]) -> KubeObject:
    found = await client.core_v1.pods("default").wait_for(name, met, timeout_s=60)
    assert found is not None
    return found


async def test_nodes_register_with_a_lease_and_take_pods(client: Client, nodes: list[str]) -> None:
    def is_open(node: KubeObject | None) -> bool:
        return node is not None and not node.spec.taints

    for name in nodes:
        node = await client.core_v1.nodes.wait_for(name, is_open, timeout_s=60)
        assert node is not None
        assert node["status"]["allocatable"]["pods"] == "110"
        lease = await client.coordination_v1.leases("kube-node-lease").get(name)
        assert lease.spec.holderIdentity == name
        assert lease["metadata"]["ownerReferences"][0]["uid"] == node.uid
    cidrs = {node.spec.podCIDR for node in (await client.core_v1.nodes.list()).items}
    assert len(cidrs) == len(nodes)


async def test_a_pod_on_our_node_runs_with_an_address(client: Client, nodes: list[str]) -> None:
    await client.core_v1.pods.create(pod("web", nodes[1]))

    found = await client.core_v1.pods("default").wait_for("web", "condition=Ready", timeout_s=60)

    assert found is not None
    assert found.status.phase == "Running"
    assert found["status"]["podIP"].startswith("10.")
    assert found["status"]["containerStatuses"][0]["state"]["running"]["startedAt"]


async def test_pods_of_other_nodes_are_left_alone(client: Client, nodes: list[str]) -> None:
    await client.core_v1.pods.create(pod("theirs", "elsewhere"))
    await client.core_v1.pods.create(pod("ours", nodes[0]))

    await until(client, "ours", in_phase("Running"))

    theirs = await client.core_v1.pods("default").get("theirs")
    assert theirs.status.phase == "Pending"


async def test_a_deleted_pod_ends_and_then_goes(client: Client, nodes: list[str]) -> None:
    await client.core_v1.pods.create(pod("web", nodes[0], stop_after="400ms"))
    running = await until(client, "web", in_phase("Running"))
    seen: list[tuple[str, str]] = []
    pods = client.core_v1.pods("default")

    async with pods.watch(resource_version=running.resource_version, timeout_s=60) as events:
        answer = await pods.delete("web")
        assert answer.metadata.deletionGracePeriodSeconds == 30
        async for event in events:
            if event.type != "BOOKMARK":
                seen.append((event.type, event.object["status"]["phase"]))
            if event.type == "DELETED":
                break

    assert seen[0] == ("MODIFIED", "Running")
    assert seen[-2:] == [("MODIFIED", "Succeeded"), ("DELETED", "Succeeded")]


async def test_a_pod_with_a_finalizer_is_ended_and_stays(client: Client, nodes: list[str]) -> None:
    held = pod("held", nodes[0])
    held["metadata"]["finalizers"] = ["example.com/hold"]
    await client.core_v1.pods.create(held)
    await until(client, "held", in_phase("Running"))

    await client.core_v1.pods("default").delete("held")

    def is_over(found: KubeObject | None) -> bool:
        return found is not None and found.metadata.deletionGracePeriodSeconds == 0

    assert (await until(client, "held", is_over)).status.phase == "Succeeded"
    await client.core_v1.pods("default").patch("held", {"metadata": {"finalizers": None}})
    await client.core_v1.pods("default").wait_deleted("held", timeout_s=60)


async def test_exits_and_crashes_show_in_the_status(client: Client, nodes: list[str]) -> None:
    once = pod("once", nodes[0], exit_after="400ms", exit_code="3")
    once["spec"]["restartPolicy"] = "Never"
    await client.core_v1.pods.create(once)
    await client.core_v1.pods.create(pod("loop", nodes[0], exit_after="0s", exit_code="1"))

    failed = await until(client, "once", in_phase("Failed"))
    assert failed.status.containerStatuses[0].state.terminated.exitCode == 3

    def is_looping(found: KubeObject | None) -> bool:
        statuses = found.status.containerStatuses if found else None
        waiting = statuses[0].state.waiting if statuses else None
        return waiting is not None and waiting.reason == "CrashLoopBackOff"

    looping = await until(client, "loop", is_looping)
    assert looping.status.containerStatuses[0].restartCount >= 1  # it goes on while we look
    assert looping.status.phase == "Running"


async def test_a_node_that_was_given_up_is_ready_again_once_its_kubelet_is(client: Client) -> None:
    condition = {"type": "Ready", "status": "Unknown", "reason": "NodeStatusUnknown"}
    await client.core_v1.nodes.create(
        {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": "doubted"},
            "status": {"conditions": [condition]},
        }
    )

    async with background(Kubelet(client, SystemClock(), ["doubted"]).run()):
        await client.core_v1.nodes.wait_for("doubted", "condition=Ready", timeout_s=60)


async def test_what_ran_before_keeps_its_address_from_those_that_are_new(client: Client) -> None:
    async with background(Kubelet(client, SystemClock(), NODES[:1]).run()):
        await client.core_v1.pods.create(pod("web", NODES[0]))
        before = await until(client, "web", in_phase("Running"))
    await client.core_v1.pods.create(pod("at-the-front", NODES[0]))

    async with background(Kubelet(client, SystemClock(), NODES[:1]).run()):
        new = await until(client, "at-the-front", in_phase("Running"))
        after = await client.core_v1.pods("default").get("web")

    assert after.status.podIP == before.status.podIP
    assert new.status.podIP != before.status.podIP


async def test_an_address_that_is_another_s_is_given_up(client: Client) -> None:
    stale = {"status": {"podIP": "10.64.0.9", "podIPs": [{"ip": "10.64.0.9"}]}}
    for name in ("one", "other"):
        await client.core_v1.pods.create(pod(name, NODES[0]))
        await client.core_v1.pods("default").patch_status(name, stale)

    async with background(Kubelet(client, SystemClock(), NODES[:1]).run()):
        found = [await until(client, name, in_phase("Running")) for name in ("one", "other")]

    addresses = [[one.ip for one in pod.status.podIPs] for pod in found]
    assert addresses == [[pod.status.podIP] for pod in found]
    assert found[0].status.podIP != found[1].status.podIP


async def test_a_pod_whose_host_has_another_address_now_reports_that_one_alone(
    client: Client,
) -> None:
    former = {"ip": "192.0.2.7"}
    stale = {"hostIP": former["ip"], "hostIPs": [former], "podIP": former["ip"], "podIPs": [former]}
    await client.core_v1.pods.create(pod("web", NODES[0]))
    await client.core_v1.pods("default").patch_status("web", {"status": stale})

    async with background(Kubelet(client, SystemClock(), NODES[:1]).run()):
        found = await until(client, "web", in_phase("Running"))
        await client.core_v1.pods("default").delete("web")
        await client.core_v1.pods("default").wait_deleted("web", timeout_s=60)

    assert [one.ip for one in found.status.hostIPs] == [found.status.hostIP]
    assert [one.ip for one in found.status.podIPs] == [found.status.podIP]
    assert former["ip"] not in (found.status.hostIP, found.status.podIP)


async def test_a_node_reports_its_present_addresses_alone(client: Client) -> None:
    former = [
        {"type": "ExternalIP", "address": "192.0.2.7"},
        {"type": "InternalIP", "address": "192.0.2.8"},
        {"type": "InternalIP", "address": "192.0.2.9"},
    ]
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "moved"}}
    await client.core_v1.nodes.create({**node, "status": {"addresses": former}})

    async with background(Kubelet(client, SystemClock(), ["moved"]).run()):
        found = await client.core_v1.nodes.wait_for("moved", "condition=Ready", timeout_s=60)

    assert found is not None
    assert [one.type for one in found.status.addresses or ()] == ["InternalIP", "Hostname"]


class _Ahead(SystemClock):
    """The machine's, set two hours too late."""

    def now(self) -> float:
        return super().now() + 7200.0


async def test_pods_stay_ready_when_the_clock_was_set_back_while_the_kubelet_was_away(
    client: Client,
) -> None:
    pods = client.core_v1.pods("default")
    async with background(Kubelet(client, _Ahead(), NODES[:1]).run()):
        await client.core_v1.pods.create(pod("web", NODES[0]))
        before = await pods.wait_for("web", "condition=Ready", timeout_s=60)
    assert before is not None
    seen: list[str] = []

    async with (
        background(Kubelet(client, SystemClock(), NODES[:1]).run()),
        pods.watch(resource_version=before.resource_version, timeout_s=60) as events,
    ):
        await client.core_v1.pods.create(pod("next", NODES[0]))
        async for event in events:
            if event.type == "BOOKMARK":
                continue
            conditions = {c.type: c.status for c in event.object.status.conditions or ()}
            seen.append(f"{event.object.name} {conditions.get('Ready')}")
            if seen[-1] == "next True":
                await client.core_v1.pods.create(pod("last", NODES[0]))  # all were looked at
            if seen[-1] == "last True":
                break

    assert "web False" not in seen


async def test_a_pod_that_runs_is_resized_and_says_which_generation_it_has_seen(
    client: Client, nodes: list[str]
) -> None:
    pods = client.core_v1.pods("default")
    made = pod("web", nodes[0])
    made["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "100m", "memory": "32Mi"}}
    await pods.create(made)
    await pods.wait_for("web", "condition=Ready", timeout_s=60)

    def has(cpu: str) -> Callable[[KubeObject | None], bool]:
        def holds(found: KubeObject | None) -> bool:
            assert found is not None
            (container,) = found["status"]["containerStatuses"]
            return bool(container.get("allocatedResources", {}).get("cpu") == cpu)

        return holds

    async def resize(cpu: str) -> None:
        container = {"name": "c", "resources": {"requests": {"cpu": cpu}}}
        spec = {"spec": {"containers": [container]}}
        await pods.patch("web", spec, type="strategic", subresource="resize")

    await resize("200m")
    resized = await until(client, "web", has("200m"))
    await resize("1000")
    refused = await pods.wait_for("web", "condition=PodResizePending", timeout_s=60)
    await resize("300m")
    again = await until(client, "web", has("300m"))

    assert resized["status"]["observedGeneration"] == resized.metadata.generation == 2
    assert resized["status"]["containerStatuses"][0]["restartCount"] == 0
    assert refused is not None
    (pending,) = [c for c in refused["status"]["conditions"] if c["type"] == "PodResizePending"]
    assert (pending["reason"], pending["observedGeneration"]) == ("Infeasible", 3)
    assert refused["status"]["containerStatuses"][0]["allocatedResources"]["cpu"] == "200m"
    kinds = [condition["type"] for condition in again["status"]["conditions"]]
    assert "PodResizePending" not in kinds
    assert again["status"]["observedGeneration"] == 4


async def test_a_resize_that_was_refused_is_not_done_by_a_kubelet_that_starts_again(
    client: Client,
) -> None:
    pods, clock = client.core_v1.pods("default"), SystemClock()
    made = pod("web", NODES[0])
    made["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "100m"}}
    container = {"name": "c", "resources": {"requests": {"cpu": "1000"}}}
    async with background(Kubelet(client, clock, NODES).run()):
        await pods.create(made)
        await pods.wait_for("web", "condition=Ready", timeout_s=60)
        patch = {"spec": {"containers": [container]}}
        await pods.patch("web", patch, type="strategic", subresource="resize")
        await pods.wait_for("web", "condition=PodResizePending", timeout_s=60)

    async with background(Kubelet(client, clock, NODES).run()):
        await pods.patch("web", {"metadata": {"annotations": {"seen": "yes"}}})
        await pods.create(pod("next", NODES[0]))
        await pods.wait_for("next", "condition=Ready", timeout_s=60)
        found = await pods.get("web")

    (status,) = found["status"]["containerStatuses"]
    assert status["allocatedResources"] == {"cpu": "100m"}
    assert "PodResizePending" in [condition.type for condition in found.status.conditions or ()]


async def test_what_becomes_of_a_resize_is_said_in_events(client: Client, nodes: list[str]) -> None:
    pods = client.core_v1.pods("default")
    made = pod("web", nodes[0])
    made["spec"]["containers"][0]["resources"] = {"requests": {"memory": "32Mi", "cpu": "100m"}}
    await pods.create(made)
    await pods.wait_for("web", "condition=Ready", timeout_s=60)
    said: dict[str, str] = {}

    async with asyncio.timeout(60), client.core_v1.events("default").watch() as events:
        for cpu in ("200m", "1000"):
            container = {"name": "c", "resources": {"requests": {"cpu": cpu}}}
            spec = {"spec": {"containers": [container]}}
            await pods.patch("web", spec, type="strategic", subresource="resize")
            if cpu == "200m":
                await pods.wait_for("web", "jsonpath={.status.observedGeneration}=2")
        async for event in events:
            if event.type != "BOOKMARK" and str(event.object.reason).startswith("Resize"):
                said[str(event.object.reason)] = str(event.object.message)
            if "ResizeInfeasible" in said:
                break

    size = '{"name":"c","resources":{"requests":{"cpu":"%s","memory":"32Mi"}}}'
    done = f'{{"containers":[{size % "200m"}],"generation":2}}'
    assert said["ResizeStarted"] == f"Pod resize started: {done}"
    assert said["ResizeCompleted"] == f"Pod resize completed: {done}"
    why = "Node didn't have enough capacity: cpu, requested: 1000000, capacity: 16000"
    refused = f'{{"containers":[{size % "1k"}],"generation":3,"error":"{why}"}}'
    assert said["ResizeInfeasible"] == f"Pod resize Infeasible: {refused}"


async def test_an_ephemeral_container_is_started_in_a_pod_that_runs(
    client: Client, nodes: list[str]
) -> None:
    pods = client.core_v1.pods("default")
    await pods.create(pod("web", nodes[0]))
    ready = await pods.wait_for("web", "condition=Ready", timeout_s=60)
    assert ready is not None

    added = ready.to_dict()
    added["spec"]["ephemeralContainers"] = [{"name": "debug", "image": "busybox"}]
    await pods.replace(added, subresource="ephemeralcontainers")

    def is_running(found: KubeObject | None) -> bool:
        assert found is not None
        known = found["status"].get("ephemeralContainerStatuses") or ()
        return any(one["name"] == "debug" and "running" in one["state"] for one in known)

    await until(client, "web", is_running)
