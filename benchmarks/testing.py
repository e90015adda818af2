"""What a test on a server of its own costs: its start, a fork of its state, hours of a cluster."""

from __future__ import annotations

import asyncio
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.report import Row
from proreus.client import Client
from proreus.testing import RunningServer, VirtualClock, running_cluster, running_server

_OBJECTS = 200
_CHANGES = 10
_ROUNDS = 50
_TESTS = 1_000
_TEST = f"""
import pytest

@pytest.fixture(scope="session", autouse=True)
def objects(proreus_session_server):
    body = {{"apiVersion": "v1", "kind": "ConfigMap"}}
    proreus_session_server.load(
        {{**body, "metadata": {{"name": f"map-{{number}}", "namespace": "default"}}}}
        for number in range({_OBJECTS})
    )

@pytest.mark.parametrize("number", range({_TESTS}))
def test_one(proreus_blocking_client, number):
    maps = proreus_blocking_client.core_v1.configmaps("default")
    maps.create({{"metadata": {{"name": "mine"}}}})
    maps.delete("map-7")
    assert len(maps.list()) >= {_OBJECTS}
"""


def run() -> list[Row]:
    cron_cpu_s, cron_wall_s = asyncio.run(_cron_job())
    return [
        *asyncio.run(_forks()),
        *_tests(),
        Row("three hours of a CronJob every ten minutes, pods included", cron_wall_s, "s", 2.0),
        Row("the same, CPU", cron_cpu_s, "s"),
    ]


async def _forks() -> list[Row]:
    starts_ms: list[float] = []
    for _ in range(5):
        began = time.process_time()
        async with running_server():
            starts_ms.append((time.process_time() - began) * 1e3)
    async with running_server() as server, server.client() as client:
        maps = client.core_v1.configmaps("default")
        for number in range(_OBJECTS):
            await maps.create({"metadata": {"name": f"map-{number}"}, "data": {"k": "v" * 200}})
        kept_ms, restored_ms = await _fork_ms(server, client)
    return [
        Row("a new server in memory, CPU", min(starts_ms), "ms"),
        Row(f"a fork of {_OBJECTS} objects, taken, CPU", kept_ms, "ms", 2.0),
        Row(f"brought back after {_CHANGES} writes, CPU", restored_ms, "ms", 2.0),
    ]


async def _fork_ms(server: RunningServer, client: Client) -> tuple[float, float]:
    maps = client.core_v1.configmaps("default")
    kept: list[float] = []
    restored: list[float] = []
    for _ in range(_ROUNDS):
        began = time.process_time()
        before = await server.checkpoint()
        kept.append(time.process_time() - began)
        for number in range(_CHANGES):
            await maps.create({"metadata": {"name": f"new-{number}"}})
        began = time.process_time()
        await server.restore(before)
        restored.append(time.process_time() - began)
    return min(kept) * 1e3, min(restored) * 1e3


def _tests() -> list[Row]:
    """By pytest itself, from its start to its end."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "test_many.py").write_text(_TEST)
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:randomly"]
        if not _is_registered():
            command += ["-p", "proreus.testing.pytest_plugin"]
        began, cpu_began = time.monotonic(), _cpu_of_children_s()
        subprocess.run([*command, folder], cwd=folder, check=True, capture_output=True)
        wall_s, cpu_s = time.monotonic() - began, _cpu_of_children_s() - cpu_began
    what = f"{_TESTS:,} tests of three requests, each on a fork with {_OBJECTS} objects"
    return [Row(what, wall_s, "s"), Row("the same, CPU", cpu_s, "s")]


def _cpu_of_children_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _is_registered() -> bool:
    from importlib.metadata import entry_points

    return bool(entry_points(group="pytest11", name="proreus"))


async def _cron_job() -> tuple[float, float]:
    parts = ["cronjob", "job"]
    async with (
        running_cluster(clock=VirtualClock(), controllers=parts) as cluster,
        cluster.client() as client,
    ):
        containers = [{"name": "main", "image": "any"}]
        template = {"spec": {"restartPolicy": "Never", "containers": containers}}
        spec = {"schedule": "*/10 * * * *", "jobTemplate": {"spec": {"template": template}}}
        jobs = client.batch_v1.cronjobs("default")
        await jobs.create({"metadata": {"name": "tick"}, "spec": spec})
        cpu, wall = time.process_time(), time.monotonic()
        await cluster.advance("3h")
        cpu, wall = time.process_time() - cpu, time.monotonic() - wall
        found = await jobs.get("tick")
        assert found["status"]["lastScheduleTime"] == "2026-01-01T03:00:00Z"
    return cpu, wall
