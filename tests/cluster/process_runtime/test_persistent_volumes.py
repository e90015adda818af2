"""Claims on a node of real processes: their files outlive pods, and end with the claim."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest_asyncio

from proreus.aio.clock import SystemClock
from proreus.aio.tasks import background
from proreus.client import KubeObject
from proreus.cluster.controller_settings import ControllerSettings
from proreus.cluster.controllers import CONTROLLERS, run_controllers
from proreus.cluster.volumes.standard_class import STANDARD_CLASS
from tests.cluster.process_runtime.conftest import Stage, shell, until_so

NAMES = (
    "persistentvolume-binder",
    "persistentvolume-phases",
    "volume-provisioner",
    "volume-deleter",
    "pvc-protection",
    "pv-protection",
)
SIZE = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
MOUNT = {"name": "data", "mountPath": "/data"}
VOLUMES = [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]


@dataclass(frozen=True, slots=True)
class Storage:
    """A stage with the controllers of volumes, whose folders are below ``folder``."""

    stage: Stage
    folder: Path


@pytest_asyncio.fixture
async def storage(stage: Stage, tmp_path: Path) -> AsyncIterator[Storage]:
    folder = tmp_path / "volumes"
    settings = ControllerSettings(use_service_account_credentials=False, volumes_folder=folder)
    chosen = {name: CONTROLLERS[name] for name in NAMES}
    # Pods of this stage name their node, so that no scheduler is there to wait for.
    at_once = {**STANDARD_CLASS, "volumeBindingMode": "Immediate"}
    await stage.client.storage_v1.storageclasses.create(at_once)
    running = run_controllers(stage.client, SystemClock(), settings=settings, controllers=chosen)
    async with background(running):
        yield Storage(stage, folder)


async def bound_claim(stage: Stage, spec: dict[str, Any]) -> None:
    """A pod that names its node and comes before its volume is tried again after ten seconds."""
    claims = stage.client.core_v1.persistentvolumeclaims("default")
    await claims.create({"metadata": {"name": "data"}, "spec": spec})
    await claims.wait_for("data", lambda found: phase(found) == "Bound", timeout_s=60)


def phase(claim: KubeObject | None) -> str:
    return str(((claim.get("status") or {}).get("phase") or "") if claim is not None else "")


async def test_what_a_pod_wrote_is_there_for_the_next_one_and_goes_with_the_claim(
    storage: Storage,
) -> None:
    stage = storage.stage
    claims = stage.client.core_v1.persistentvolumeclaims("default")
    await bound_claim(stage, SIZE)
    writer = shell("echo kept > data/file; sleep 600", volumeMounts=[MOUNT])
    await stage.run("writer", writer, volumes=VOLUMES)
    await until_so(lambda: [one.read_text() for one in storage.folder.glob("*/file")] == ["kept\n"])
    await claims.delete("data")
    await stage.delete("writer", grace_s=1)
    await claims.wait_deleted("data", timeout_s=60)
    volumes = stage.client.core_v1.persistentvolumes
    for one in await volumes.list():
        await volumes.wait_deleted(one.name, timeout_s=60)
    assert list(storage.folder.iterdir()) == []

    await bound_claim(stage, SIZE)
    await stage.run("again", writer, volumes=VOLUMES)
    await until_so(lambda: [one.read_text() for one in storage.folder.glob("*/file")] == ["kept\n"])
    await stage.delete("again", grace_s=1)
    reader = shell("cat data/file", volumeMounts=[MOUNT])
    await stage.run("reader", reader, volumes=VOLUMES, restartPolicy="Never")
    await stage.phase("reader", "Succeeded")

    assert await stage.logs("reader") == "kept\n"


async def test_a_local_volume_of_an_administrator_is_the_folder_that_it_names(
    storage: Storage, tmp_path: Path
) -> None:
    stage, disk = storage.stage, tmp_path / "disk"
    disk.mkdir()
    expression = {"key": "kubernetes.io/hostname", "operator": "Exists"}
    spec = {
        "accessModes": ["ReadWriteOnce"],
        "capacity": {"storage": "5Gi"},
        "storageClassName": "local",
        "local": {"path": str(disk)},
        "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}},
    }
    await stage.client.core_v1.persistentvolumes.create({"metadata": {"name": "v"}, "spec": spec})
    own = {**SIZE, "storageClassName": "local"}
    await bound_claim(stage, own)
    writer = shell("echo here > data/file", volumeMounts=[MOUNT])

    await stage.run("writer", writer, volumes=VOLUMES, restartPolicy="Never")
    await stage.phase("writer", "Succeeded")

    assert (disk / "file").read_text() == "here\n"
