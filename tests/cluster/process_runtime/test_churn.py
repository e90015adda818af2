"""Pods come and go in any way and at any moment: in the end nothing of them is left."""

from __future__ import annotations

import random
from typing import Any

import pytest

from proreus.api.status import AlreadyExists, NotFound
from proreus.cluster.kubelet.runtimes.process.guard import kill_where
from tests.cluster.process_runtime.conftest import NODE, Stage, until_so

SCRIPTS = (
    "sleep 1000",
    "exit 0",
    "exit 3",
    "sleep 0.2; exit 1",
    "trap '' TERM; while :; do sleep 0.1; done",
    "setsid sleep 1000 & exit 0",
    "sleep 1000 & setsid sleep 1000 & wait",
    "head -c 1000000 /dev/zero; sleep 1000",
)
MAPS = 3


def container(chance: random.Random) -> dict[str, Any]:
    content: dict[str, Any] = {"command": ["sh", "-c", chance.choice(SCRIPTS)]}
    for kind in ("livenessProbe", "readinessProbe", "startupProbe"):
        if chance.random() < 0.25:
            program = chance.choice(["true", "false"])
            content[kind] = {"exec": {"command": [program]}, "periodSeconds": 1}
    if chance.random() < 0.2:
        hook = {"exec": {"command": chance.choice([["true"], ["false"], ["sleep", "5"]])}}
        content["lifecycle"] = {chance.choice(["preStop", "postStart"]): hook}
    if chance.random() < 0.3:
        content["envFrom"] = [{"configMapRef": {"name": f"map-{chance.randrange(MAPS)}"}}]
    return content


def rest(chance: random.Random) -> dict[str, Any]:
    spec: dict[str, Any] = {
        "restartPolicy": chance.choice(["Always", "OnFailure", "Never"]),
        "terminationGracePeriodSeconds": chance.choice([0, 1]),
    }
    if chance.random() < 0.3:
        command = ["sh", "-c", chance.choice(["true", "exit 1", "sleep 0.3"])]
        spec["initContainers"] = [{"name": "first", "image": "none", "command": command}]
    if chance.random() < 0.2:
        spec["activeDeadlineSeconds"] = 1
    if chance.random() < 0.3:
        source = {"name": f"map-{chance.randrange(MAPS)}", "optional": chance.random() < 0.5}
        spec["volumes"] = [{"name": "conf", "configMap": source}]
    return spec


async def happen(stage: Stage, chance: random.Random, names: list[str]) -> None:
    """Something, to somebody."""
    pods = stage.client.core_v1.pods("default")
    maps = stage.client.core_v1.configmaps("default")
    roll = chance.random()
    if roll < 0.5:
        names.append(f"pod-{len(names)}")
        await stage.run(names[-1], container(chance), **rest(chance))
    elif roll < 0.8 and names:
        await pods.delete(chance.choice(names), grace_period_s=chance.choice([None, 0, 1]))
    elif roll < 0.9:
        await stage.config_map(f"map-{chance.randrange(MAPS)}", a=str(roll))
    else:
        await maps.delete(f"map-{chance.randrange(MAPS)}")


@pytest.mark.parametrize("seed", [1, 2])
async def test_whatever_happens_nothing_is_left(stage: Stage, seed: int) -> None:
    chance, names = random.Random(seed), list[str]()
    pods = stage.client.core_v1.pods("default")

    for _ in range(60):
        try:
            await happen(stage, chance, names)
        except (AlreadyExists, NotFound):
            continue
    await pods.delete_collection()
    for name in names:
        await pods.wait_deleted(name, timeout_s=60)

    folder = stage.folder / NODE / "pods"
    await until_so(lambda: not any(folder.iterdir()))
    assert kill_where(lambda root: str(folder).encode() in root, lambda mark: False) == 0
