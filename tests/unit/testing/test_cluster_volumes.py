"""Claims in a cluster of simulated nodes: bound, grown, protected and given back."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest_asyncio

from proreus.client import Client, KubeObject
from proreus.testing.cluster import running_cluster
from proreus.testing.server import RunningServer
from proreus.testing.virtual_clock import VirtualClock

SIZE = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
MOUNT = {"name": "data", "mountPath": "/data"}
CONTAINER = {"name": "main", "image": "any", "volumeMounts": [MOUNT]}


@pytest_asyncio.fixture
async def cluster() -> AsyncIterator[RunningServer]:
    async with running_cluster(clock=VirtualClock(), nodes=2) as running:
        yield running


def stateful_set(replicas: int) -> dict[str, Any]:
    return {
        "metadata": {"name": "db"},
        "spec": {
            "replicas": replicas,
            "serviceName": "db",
            "selector": {"matchLabels": {"app": "db"}},
            "template": {
                "metadata": {"labels": {"app": "db"}},
                "spec": {"containers": [CONTAINER]},
            },
            "volumeClaimTemplates": [{"metadata": {"name": "data"}, "spec": SIZE}],
        },
    }


def pod(name: str, claim: str, **spec: Any) -> dict[str, Any]:
    volume = {"name": "data", "persistentVolumeClaim": {"claimName": claim}}
    return {
        "metadata": {"name": name},
        "spec": {"containers": [CONTAINER], "volumes": [volume], **spec},
    }


def volume(name: str, **spec: Any) -> dict[str, Any]:
    own = {
        "accessModes": ["ReadWriteOnce"],
        "capacity": {"storage": "1Gi"},
        "hostPath": {"path": "/srv"},
    }
    return {"metadata": {"name": name}, "spec": {**own, **spec}}


async def unschedulable_because(client: Client, name: str) -> str:
    found = await client.core_v1.pods("default").get(name)
    return str(found["status"]["conditions"][0]["message"])


async def events_of(client: Client, name: str) -> dict[str, str]:
    found = await client.core_v1.events("default").list(
        field_selector=f"involvedObject.name={name}"
    )
    return {str(event.reason): str(event.message) for event in found}


def phases(objects: Any) -> dict[str, str]:
    return {one.name: one.status.phase for one in objects}


async def test_a_stateful_set_with_claim_templates_just_works(cluster: RunningServer) -> None:
    async with cluster.client() as client:
        sets, claims = client.apps_v1.statefulsets("default"), client.core_v1.persistentvolumeclaims
        await sets.create(stateful_set(3))
        await cluster.advance("1m")

        assert (await sets.get("db")).status.readyReplicas == 3
        found: list[KubeObject] = list(await claims("default").list())
        assert phases(found) == {f"data-db-{number}": "Bound" for number in range(3)}
        assert {one.spec.storageClassName for one in found} == {"standard"}
        first = found[0]
        made = await client.core_v1.persistentvolumes.get(first.spec.volumeName)
        where = (await client.core_v1.pods("default").get("db-0")).spec.nodeName
        [term] = made["spec"]["nodeAffinity"]["required"]["nodeSelectorTerms"]
        assert list(term["matchExpressions"][0]["values"]) == [where]
        assert set(await events_of(client, "data-db-0")) == {
            "WaitForFirstConsumer",
            "ExternalProvisioning",
            "Provisioning",
            "ProvisioningSucceeded",
        }

        await client.core_v1.pods("default").delete("db-0")
        await cluster.advance("1m")

        again = await client.core_v1.pods("default").get("db-0")
        assert again.spec.nodeName == where and again.status.phase == "Running"
        assert (await claims("default").get("data-db-0")).uid == first.uid


async def test_a_claim_in_use_stays_until_its_pod_is_gone_and_takes_its_volume_along(
    cluster: RunningServer,
) -> None:
    async with cluster.client() as client:
        claims, pods = client.core_v1.persistentvolumeclaims("default"), client.core_v1.pods
        await claims.create({"metadata": {"name": "data"}, "spec": SIZE})
        await pods("default").create(pod("user", "data"))
        await cluster.advance("1m")
        await claims.patch("data", {"spec": {"resources": {"requests": {"storage": "3Gi"}}}})
        await cluster.settle()
        await claims.delete("data")
        await cluster.advance("1m")

        used = await claims.get("data")
        assert used.metadata.deletionTimestamp and used["status"]["capacity"]["storage"] == "3Gi"
        [bound] = await client.core_v1.persistentvolumes.list()
        assert bound.status.phase == "Bound" and bound["spec"]["capacity"]["storage"] == "3Gi"

        await pods("default").delete("user", grace_period_s=0)
        await cluster.advance("1m")

        assert not list(await claims.list())
        assert not list(await client.core_v1.persistentvolumes.list())


async def test_volumes_of_an_administrator_are_bound_released_and_kept(
    cluster: RunningServer,
) -> None:
    async with cluster.client() as client:
        volumes = client.core_v1.persistentvolumes
        claims = client.core_v1.persistentvolumeclaims("default")
        await volumes.create(volume("large", storageClassName="own", capacity={"storage": "9Gi"}))
        await volumes.create(volume("small", storageClassName="own"))
        await cluster.settle()
        assert phases(await volumes.list()) == {"large": "Available", "small": "Available"}

        await claims.create(
            {"metadata": {"name": "c"}, "spec": {**SIZE, "storageClassName": "own"}}
        )
        await cluster.settle()

        assert (await claims.get("c")).spec.volumeName == "small"
        assert phases(await volumes.list()) == {"large": "Available", "small": "Bound"}

        await claims.delete("c")
        await cluster.settle()
        assert phases(await volumes.list()) == {"large": "Available", "small": "Released"}

        await volumes.delete("small")
        await cluster.settle()
        assert phases(await volumes.list()) == {"large": "Available"}


async def test_a_pod_waits_for_claims_that_nobody_can_bind_and_says_so(
    cluster: RunningServer,
) -> None:
    async with cluster.client() as client:
        pods, claims = client.core_v1.pods("default"), client.core_v1.persistentvolumeclaims
        no_class = {**SIZE, "storageClassName": ""}
        await claims("default").create({"metadata": {"name": "waits"}, "spec": no_class})
        await pods.create(pod("early", "waits"))
        await pods.create(pod("wrong", "missing"))
        await pods.create(pod("by-hand", "waits", nodeName="node-1"))
        await cluster.advance("10s")

        hopeless = (
            "preemption: 0/2 nodes are available: 2 Preemption is not helpful for scheduling."
        )
        assert await unschedulable_because(client, "early") == (
            "0/2 nodes are available: pod has unbound immediate PersistentVolumeClaims. " + hopeless
        )
        assert await unschedulable_because(client, "wrong") == (
            '0/2 nodes are available: persistentvolumeclaim "missing" not found. ' + hopeless
        )
        assert (await pods.get("by-hand")).status.phase == "Pending"
        assert "PVC is not bound" in (await events_of(client, "by-hand"))["FailedMount"]

        await client.core_v1.persistentvolumes.create(volume("v"))
        await cluster.advance("1m")

        assert (await claims("default").get("waits")).spec.volumeName == "v"
        assert (await pods.get("early")).status.phase == "Running"
        assert (await pods.get("by-hand")).status.phase == "Running"


async def test_an_ephemeral_volume_comes_and_goes_with_its_pod(cluster: RunningServer) -> None:
    async with cluster.client() as client:
        pods, claims = client.core_v1.pods("default"), client.core_v1.persistentvolumeclaims
        body = pod("job", "x")
        body["spec"]["volumes"] = [
            {"name": "data", "ephemeral": {"volumeClaimTemplate": {"spec": SIZE}}}
        ]
        await pods.create(body)
        await cluster.advance("1m")

        made = await claims("default").get("job-data")
        assert made.status.phase == "Bound" and made.controller_name == "job"
        assert (await pods.get("job")).status.phase == "Running"

        await pods.delete("job", grace_period_s=0)
        await cluster.advance("1m")

        assert not list(await claims("default").list())
        assert not list(await client.core_v1.persistentvolumes.list())


async def test_a_local_volume_is_bound_on_the_node_that_the_scheduler_chose(
    cluster: RunningServer,
) -> None:
    async with cluster.client() as client:
        later = {
            "metadata": {"name": "local"},
            "provisioner": "kubernetes.io/no-provisioner",
            "volumeBindingMode": "WaitForFirstConsumer",
        }
        await client.storage_v1.storageclasses.create(later)
        expression = {"key": "kubernetes.io/hostname", "operator": "In", "values": ["node-2"]}
        affinity = {"required": {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}}
        await client.core_v1.persistentvolumes.create(
            volume("disk", storageClassName="local", nodeAffinity=affinity)
        )
        claims, pods = client.core_v1.persistentvolumeclaims("default"), client.core_v1.pods
        own = {**SIZE, "storageClassName": "local"}
        await claims.create({"metadata": {"name": "first"}, "spec": own})
        await claims.create({"metadata": {"name": "second"}, "spec": own})
        await cluster.settle()
        assert phases(await claims.list()) == {"first": "Pending", "second": "Pending"}

        await pods("default").create(pod("one", "first"))
        await cluster.advance("1m")
        await pods("default").create(pod("two", "second"))
        await cluster.advance("1m")

        assert (await pods("default").get("one")).spec.nodeName == "node-2"
        assert (await claims.get("first")).spec.volumeName == "disk"
        text = "2 node(s) didn't find available persistent volumes to bind"
        assert text in await unschedulable_because(client, "two")


async def test_a_second_pod_waits_for_a_claim_that_is_for_one_pod(cluster: RunningServer) -> None:
    async with cluster.client() as client:
        pods, claims = client.core_v1.pods("default"), client.core_v1.persistentvolumeclaims
        alone = {**SIZE, "accessModes": ["ReadWriteOncePod"]}
        await claims("default").create({"metadata": {"name": "data"}, "spec": alone})
        await pods.create(pod("first", "data"))
        await cluster.advance("1m")
        await pods.create(pod("second", "data"))
        await cluster.advance("1m")

        text = "using PersistentVolumeClaim with the same name and ReadWriteOncePod access mode"
        assert text in await unschedulable_because(client, "second")

        await pods.delete("first", grace_period_s=0)
        await cluster.advance("1m")

        assert (await pods.get("second")).status.phase == "Running"
