"""Simulated pods wait for what they lack and end as their commands say, over the wire."""

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
from proreus.cluster.kubelet.settings import KubeletSettings
from proreus.net.tls.issuing import make_authority
from proreus.testing.cluster import running_cluster
from proreus.testing.virtual_clock import VirtualClock
from tests.cluster.pod_signer import ended, projected, signing

NODE = "node-1"
A_HEARTBEAT = "11m"  # of a cluster whose nodes nobody watches


@pytest_asyncio.fixture
async def node(client: Client) -> AsyncIterator[str]:
    settings = KubeletSettings(missing_images=("nowhere/*",))
    async with background(Kubelet(client, SystemClock(), [NODE], settings).run()):
        await client.core_v1.nodes.wait_for(NODE, "condition=Ready", timeout_s=60)
        yield NODE


def pod(*volumes: dict[str, Any], **container: Any) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "web", "namespace": "default"},
        "spec": {
            "nodeName": NODE,
            "containers": [{"name": "c", "image": "i", **container}],
            "volumes": list(volumes),
        },
    }


def waiting(reason: str) -> Any:
    def holds(found: KubeObject | None) -> bool:
        statuses = found.status.containerStatuses if found else None
        state = statuses[0].state.waiting if statuses else None
        return state is not None and state.reason == reason

    return holds


async def saw(client: Client, reason: str, text: str) -> None:
    """An event; those that were come first."""
    async with asyncio.timeout(60), client.core_v1.events("default").watch() as events:
        async for event in events:
            found = event.object
            if event.type != "BOOKMARK" and found.reason == reason and text in str(found.message):
                return


@pytest.mark.parametrize(
    ("content", "reason", "event"),
    [
        (
            pod({"name": "v", "configMap": {"name": "later"}}),
            "ContainerCreating",
            ("FailedMount", 'volume "v" : configmap "later" not found'),
        ),
        (
            pod(envFrom=[{"configMapRef": {"name": "later"}}]),
            "CreateContainerConfigError",
            ("Failed", 'Error: configmap "later" not found'),
        ),
    ],
)
async def test_a_pod_starts_when_the_config_map_it_lacks_appears(
    client: Client, node: str, content: dict[str, Any], reason: str, event: tuple[str, str]
) -> None:
    pods = client.core_v1.pods("default")
    await pods.create(content)

    await pods.wait_for("web", waiting(reason), timeout_s=60)
    await saw(client, *event)
    made = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "later"}}
    await client.core_v1.configmaps("default").create({**made, "data": {"key": "value"}})

    await pods.wait_for("web", "condition=Ready", timeout_s=60)
    await pods.delete("web")
    await pods.wait_deleted("web", timeout_s=60)


async def test_a_container_that_has_run_needs_its_config_map_to_be_restarted() -> None:
    async with (
        running_cluster(clock=VirtualClock(), controllers=False, scheduler=False) as server,
        Client(server.config()) as client,
    ):
        maps, pods = client.core_v1.configmaps("default"), client.core_v1.pods("default")
        await client.core_v1.serviceaccounts("default").create({"metadata": {"name": "default"}})
        await maps.create({"metadata": {"name": "settings"}, "data": {"key": "value"}})
        crashing = pod(envFrom=[{"configMapRef": {"name": "settings"}}])
        crashing["metadata"]["annotations"] = {"proreus.dev/exit-after": "5s"}
        crashing["spec"]["automountServiceAccountToken"] = False
        await pods.create(crashing)
        await server.settle()
        assert (await pods.get("web")).status.phase == "Running"

        await maps.delete("settings")
        await server.advance("20s")

        assert waiting("CreateContainerConfigError")(await pods.get("web"))


def saying(script: str, **container: Any) -> dict[str, Any]:
    """A pod whose last words are what its script prints."""
    command = {"command": ["sh", "-c", script], "terminationMessagePolicy": "FallbackToLogsOnError"}
    return pod(**command, **container)


def last_end(found: KubeObject) -> dict[str, Any]:
    status = found.to_dict()["status"]["containerStatuses"][0]
    ended: dict[str, Any] = status["state"].get("terminated") or status["lastState"]["terminated"]
    return ended


def last_words(found: KubeObject) -> str:
    return str(last_end(found).get("message"))


async def test_a_command_reads_the_variables_that_its_container_has(
    client: Client, node: str
) -> None:
    data = {"metadata": {"name": "settings"}, "data": {"a.key": "of a map", "N": "2"}}
    await client.core_v1.configmaps("default").create(data)
    secret = {"metadata": {"name": "settings"}, "stringData": {"key": "of a secret"}}
    await client.core_v1.secrets("default").create(secret)
    service = {"clusterIP": "10.0.0.99", "ports": [{"port": 8765}]}
    await client.core_v1.services("default").create({"metadata": {"name": "s"}, "spec": service})
    env: list[dict[str, Any]] = [
        {"name": "A", "valueFrom": {"secretKeyRef": {"name": "settings", "key": "key"}}},
        {"name": "B", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}},
        {"name": "C", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu"}}},
        {"name": "D", "value": "$(A), $(P_N), $(S_SERVICE_HOST)"},
    ]
    names = "A B C D P_a.key S_PORT HOSTNAME"
    content = saying(f"printenv {names}; exit $P_N", env=env)
    content["spec"]["containers"][0]["envFrom"] = [
        {"prefix": "P_", "configMapRef": {"name": "settings"}}
    ]
    content["spec"]["restartPolicy"] = "Never"

    await client.core_v1.pods("default").create(content)
    found = await client.core_v1.pods("default").wait_for(
        "web", "jsonpath={.status.phase}=Failed", timeout_s=60
    )

    assert found is not None
    assert last_end(found)["exitCode"] == 2
    of_pod = "of a secret, 2, 10.0.0.99", "of a map", "tcp://10.0.0.99:8765", "web"
    assert last_words(found).splitlines() == ["of a secret", found.status.podIP, "16", *of_pod]


async def test_a_container_keeps_the_variables_that_it_was_started_with() -> None:
    async with (
        running_cluster(clock=VirtualClock(), controllers=False, scheduler=False) as server,
        Client(server.config()) as client,
    ):
        maps, pods = client.core_v1.configmaps("default"), client.core_v1.pods("default")
        await client.core_v1.serviceaccounts("default").create({"metadata": {"name": "default"}})
        await maps.create({"metadata": {"name": "settings"}, "data": {"N": "1"}})
        content = saying("echo $N; sleep 60; exit $N")
        content["spec"]["containers"][0]["envFrom"] = [{"configMapRef": {"name": "settings"}}]
        content["spec"]["automountServiceAccountToken"] = False
        await pods.create(content)
        await server.settle()

        await maps.patch("settings", {"data": {"N": "2"}})
        await pods.patch("web", {"metadata": {"labels": {"other": "label"}}})
        await server.advance("61s")
        assert last_words(await pods.get("web")) == "1\n"

        await server.advance("140s")  # the second restart is later than the crash
        assert last_words(await pods.get("web")) == "2\n"


async def test_an_extended_resource_that_a_user_adds_to_a_node_is_for_pods_to_have() -> None:
    async with (
        running_cluster(clock=VirtualClock(), controllers=False) as server,
        Client(server.config()) as client,
    ):
        await client.core_v1.serviceaccounts("default").create({"metadata": {"name": "default"}})
        wanted = pod(resources={"limits": {"example.com/gpu": "2"}})
        wanted["spec"].pop("nodeName", None)
        await client.core_v1.pods.create(wanted)
        await server.settle()
        assert (await client.core_v1.pods("default").get("web")).status.phase == "Pending"

        (node,) = (await client.core_v1.nodes.list()).items
        patch: dict[str, Any] = {"status": {"capacity": {"example.com/gpu": "2"}}}
        await client.core_v1.nodes.patch_status(node.name, patch)
        await server.advance(A_HEARTBEAT)

        assert (await client.core_v1.pods("default").get("web")).status.phase == "Running"
        patch = {"status": {"capacity": {"example.com/gpu": None}}}
        await client.core_v1.nodes.patch_status(node.name, patch)
        await server.advance(A_HEARTBEAT)
        left = (await client.core_v1.nodes.get(node.name))["status"]["allocatable"]
        assert "example.com/gpu" not in left


@pytest.mark.parametrize(
    ("chosen", "said"),
    [
        ({"name": "example.com:s:own"}, '"example.com:s:own" not found'),
        ({"signerName": "example.com/s", "labelSelector": {}}, "matched zero ClusterTrustBundles"),
    ],
)
async def test_trust_bundles_that_are_not_there_are_waited_for(
    client: Client, node: str, chosen: dict[str, Any], said: str
) -> None:
    source = {"clusterTrustBundle": {"path": "roots.pem", **chosen}}
    pods = client.core_v1.pods("default")
    await pods.create(pod({"name": "v", "projected": {"sources": [source]}}))
    await saw(client, "FailedMount", said)

    root = make_authority("root", now=0).certificate.decode()
    await client.certificates_v1.clustertrustbundles.create(
        {
            "metadata": {"name": "example.com:s:own"},
            "spec": {"signerName": "example.com/s", "trustBundle": root},
        }
    )

    await pods.wait_for("web", "condition=Ready", timeout_s=60)


async def test_a_pod_starts_when_its_certificate_is_issued(client: Client, node: str) -> None:
    await client.core_v1.serviceaccounts("default").create({"metadata": {"name": "default"}})
    pods = client.core_v1.pods("default")
    await pods.create(pod(projected(keyPath="key")))
    await pods.wait_for("web", waiting("ContainerCreating"), timeout_s=60)

    async with signing(client):
        await pods.wait_for("web", "condition=Ready", timeout_s=60)


async def test_a_pod_whose_certificate_is_denied_does_not_start(client: Client, node: str) -> None:
    await client.core_v1.serviceaccounts("default").create({"metadata": {"name": "default"}})
    requests = client.certificates_v1.podcertificaterequests("default")
    await client.core_v1.pods("default").create(pod(projected(keyPath="key")))

    async with asyncio.timeout(60), requests.watch() as events:
        async for event in events:
            if event.type == "ADDED":
                await requests.patch_status(event.object.name, {"status": ended("Denied", "no")})
                break

    await saw(client, "FailedMount", "was denied: Test: no")


@pytest.mark.parametrize(
    ("kind", "word", "then"),
    [("readinessProbe", "Readiness", None), ("livenessProbe", "Liveness", "Killing")],
)
async def test_a_probe_that_fails_is_an_event(
    client: Client, node: str, kind: str, word: str, then: str | None
) -> None:
    probe = {"exec": {"command": ["sh", "-c", "echo sick; exit 1"]}, "failureThreshold": 1}
    await client.core_v1.pods("default").create(pod(**{kind: probe}))

    await saw(client, "Unhealthy", f"{word} probe failed: sick")
    if then is not None:
        await saw(client, then, "Container c failed liveness probe, will be restarted")


async def test_a_container_starts_when_its_image_is_no_longer_missing(
    client: Client, node: str
) -> None:
    pods = client.core_v1.pods("default")
    content = pod(image="web:2")
    content["metadata"]["annotations"] = {"proreus.dev/missing-image": "web:*"}
    await pods.create(content)

    await pods.wait_for("web", waiting("ErrImagePull"), timeout_s=60)
    await pods.wait_for("web", waiting("ImagePullBackOff"), timeout_s=60)
    await saw(client, "Failed", 'Failed to pull image "web:2"')
    await saw(client, "BackOff", 'Back-off pulling image "web:2"')
    await pods.patch("web", {"metadata": {"annotations": {"proreus.dev/missing-image": None}}})

    await pods.wait_for("web", "condition=Ready", timeout_s=60)


async def test_images_that_the_nodes_lack_can_be_replaced(client: Client, node: str) -> None:
    pods = client.core_v1.pods("default")
    await pods.create(pod(image="nowhere/web:1", imagePullPolicy="Never"))
    await pods.wait_for("web", waiting("ErrImageNeverPull"), timeout_s=60)

    image = {"name": "c", "image": "elsewhere/web:1"}
    await pods.patch("web", {"spec": {"containers": [image]}}, type="strategic")

    await pods.wait_for("web", "condition=Ready", timeout_s=60)


async def test_an_annotation_that_cannot_be_read_is_an_event(client: Client, node: str) -> None:
    content = pod()
    content["metadata"]["annotations"] = {"proreus.dev/ready-after": "soon"}
    await client.core_v1.pods("default").create(content)

    await saw(client, "InvalidAnnotation", '"soon" is not a duration')


async def test_an_index_of_a_job_fails_by_its_exit_code_and_the_others_go_on(
    client: Client, node: str
) -> None:
    script = "[ $JOB_COMPLETION_INDEX -eq 1 ] && exit 42; exit 0"
    container = {"name": "c", "image": "i", "command": ["sh", "-c", script]}
    rule = {
        "action": "FailIndex",
        "onExitCodes": {"containerName": "c", "operator": "In", "values": [42]},
    }
    template = {
        "spec": {"restartPolicy": "Never", "nodeName": NODE, "containers": [container]},
    }
    job = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "indexed", "namespace": "default"},
        "spec": {
            "completionMode": "Indexed",
            "completions": 3,
            "parallelism": 3,
            "backoffLimitPerIndex": 1,
            "podFailurePolicy": {"rules": [rule]},
            "template": template,
        },
    }
    jobs = client.batch_v1.jobs("default")
    wanted = {"job": CONTROLLERS["job"]}
    async with background(run_controllers(client, SystemClock(), controllers=wanted)):
        await jobs.create(job)
        done = await jobs.wait_for("indexed", "condition=Failed", timeout_s=60)

    assert done is not None
    assert (done.status.failedIndexes, done.status.completedIndexes) == ("1", "0,2")
