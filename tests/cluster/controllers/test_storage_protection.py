"""Claims and volumes over the wire: deleted, but not under those who use them."""

from __future__ import annotations

from typing import Any

from tests.cluster.controllers.stage import Stage, template

CONTROLLERS = ("pvc-protection", "pv-protection", "volumeattributesclass-protection")
SIZE = {"storage": "1Gi"}


async def test_a_claim_goes_once_the_last_pod_that_mounts_it_has_ended(stage: Stage) -> None:
    claims = stage.client.core_v1.persistentvolumeclaims("default")
    pods = stage.client.core_v1.pods("default")
    spec: dict[str, Any] = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": SIZE}}
    await claims.create({"metadata": {"name": "data"}, "spec": spec})
    volume = {"name": "v", "persistentVolumeClaim": {"claimName": "data"}}
    user = template({}, volumes=[volume], nodeName="n1")["spec"]
    await pods.create({"metadata": {"name": "user"}, "spec": user})

    going = await claims.delete("data")
    assert going.metadata.deletionTimestamp
    await pods.delete("user", grace_period_s=0)

    await claims.wait_deleted("data", timeout_s=60)


async def test_a_volume_that_is_bound_to_nothing_goes_at_once(stage: Stage) -> None:
    volumes = stage.client.core_v1.persistentvolumes
    spec = {"capacity": SIZE, "accessModes": ["ReadWriteOnce"], "hostPath": {"path": "/x"}}
    await volumes.create({"metadata": {"name": "disk"}, "spec": spec})

    await volumes.delete("disk")

    await volumes.wait_deleted("disk", timeout_s=60)


async def test_an_attributes_class_goes_once_no_claim_names_it(stage: Stage) -> None:
    classes = stage.client.storage_v1.volumeattributesclasses
    claims = stage.client.core_v1.persistentvolumeclaims("default")
    await classes.create(
        {"metadata": {"name": "fast"}, "driverName": "d.example.com", "parameters": {"iops": "9"}}
    )
    spec: dict[str, Any] = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": SIZE}}
    spec["volumeAttributesClassName"] = "fast"
    await claims.create({"metadata": {"name": "data"}, "spec": spec})

    going = await classes.delete("fast")
    assert going.metadata.deletionTimestamp
    await claims.delete("data")

    await classes.wait_deleted("fast", timeout_s=60)
