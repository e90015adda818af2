"""A cluster of several processes is one cluster: it works, heals and ends as a whole."""

from __future__ import annotations

import asyncio
import os
import re
import signal
from pathlib import Path

import pytest

from proreus.api.object import KubeObject
from proreus.cli.parts_order import divided, processes_for
from proreus.client import Client
from tests.faults.cluster.programs import Cluster, cluster
from tests.processes import wait_gone

PARTS = ("controllers", "scheduler", "kubelet")


def started(up: Cluster) -> list[tuple[str, int]]:
    """The parts and the id of every process that was started."""
    said = re.findall(r"process started: parts=(\S+) pid=(\d+)", up.main.log.read_text())
    return [(parts, int(pid)) for parts, pid in said]


async def wait_started(up: Cluster, count: int) -> list[tuple[str, int]]:
    async with asyncio.timeout(60):
        while len(found := started(up)) < count:  # noqa: ASYNC110  # a log is a file
            await asyncio.sleep(0.05)
    return found


async def deploy(client: Client, name: str) -> None:
    """A Deployment, until its pods are available."""
    labels = {"app": name}
    pod = {"containers": [{"name": "main", "image": "web:1"}]}
    spec = {
        "replicas": 3,
        "selector": {"matchLabels": labels},
        "template": {"metadata": {"labels": labels}, "spec": pod},
    }
    deployments = client.apps_v1.deployments("default")
    await deployments.create({"metadata": {"name": name}, "spec": spec})

    def is_available(found: KubeObject | None) -> bool:
        status = (found.get("status") or {}) if found is not None else {}
        return bool(status.get("availableReplicas") == 3)

    await deployments.wait_for(name, is_available, timeout_s=60)


async def test_a_cluster_of_several_processes_heals_and_ends_as_one(tmp_path: Path) -> None:
    with cluster(tmp_path, "up", "--nodes", "2", "--processes", "3") as up:
        (first, first_pid), (second, second_pid) = await wait_started(up, 2)
        assert (first, second) == ("controllers,scheduler", "kubelet")
        async with up.client() as client:
            await deploy(client, "before")

            os.kill(second_pid, signal.SIGKILL)
            await deploy(client, "after")  # the nodes are back

        *_, (again, again_pid) = await wait_started(up, 3)
        assert again == "kubelet"
        said = "process died, restarting: parts=kubelet why=killed by SIGKILL"
        assert said in up.main.log.read_text()

        up.main.kill()  # no chance to take the others along
        for pid in (first_pid, again_pid):
            await wait_gone(pid)


async def test_who_is_asked_to_end_ends_its_processes_first(tmp_path: Path) -> None:
    with cluster(tmp_path, "up", "--without", "controllers", "--processes", "4") as up:
        running = await wait_started(up, 2)
        assert [parts for parts, _ in running] == ["scheduler", "kubelet"]
        async with up.client() as client:
            await client.core_v1.nodes.wait_for("node-1", lambda node: node is not None)

        assert up.main.stop() == 0

        for _, pid in running:
            await wait_gone(pid)
        assert "process died" not in up.main.log.read_text()


def niceness(pid: int) -> int:
    return os.getpriority(os.PRIO_PROCESS, pid)


async def wait_nicer(pid: int, than: int) -> None:
    async with asyncio.timeout(60):
        while niceness(pid) <= niceness(than):  # noqa: ASYNC110  # nobody says so
            await asyncio.sleep(0.05)


async def test_the_server_goes_first_where_its_parts_want_the_same_core(tmp_path: Path) -> None:
    with cluster(tmp_path, "up", "--processes", "3") as up:
        for _, pid in await wait_started(up, 2):
            await wait_nicer(pid, than=up.main.pid)


async def test_containers_have_the_priority_that_the_cluster_was_started_with(
    tmp_path: Path,
) -> None:
    parts = ("--without", "controllers", "--processes", "4", "--runtime", "process")
    with cluster(tmp_path, "up", *parts) as up:
        running = dict(await wait_started(up, 2))
        await wait_nicer(running["scheduler"], than=up.main.pid)
        async with up.client() as client:
            await client.core_v1.nodes.wait_for("node-1", lambda node: node is not None)

        assert niceness(running["kubelet"]) == niceness(up.main.pid)


def test_a_small_cluster_is_one_process_and_a_large_one_uses_the_cores() -> None:
    assert processes_for(nodes=1, cores=8) == 1
    assert processes_for(nodes=100, cores=1) == 1
    assert divided(PARTS, processes_for(nodes=100, cores=2)) == [
        ("controllers", "scheduler"),
        ("kubelet",),
    ]


@pytest.mark.parametrize("processes", [1, 2, 3, 4])
def test_each_part_runs_once_in_whatever_number_of_processes(processes: int) -> None:
    groups = divided(PARTS, processes)

    assert sorted(name for group in groups for name in group) == sorted(PARTS if groups else ())
    assert len(groups) == processes - 1
