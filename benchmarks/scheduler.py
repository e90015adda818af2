"""Scheduling: the decision alone, and a burst of pods against a server in a process of its own."""

from __future__ import annotations

import asyncio
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.report import CpuTimer, Row
from proreus.aio.clock import SystemClock
from proreus.aio.tasks import background
from proreus.api.object import KubeObject
from proreus.client import Client, ClientConfig, load_config
from proreus.client.informer import SharedInformerFactory
from proreus.cluster.scheduler.cluster_state import ClusterState
from proreus.cluster.scheduler.cycle import Cycle, Placed
from proreus.cluster.scheduler.pod import PodView
from proreus.cluster.scheduler.scheduler import Scheduler

_NODES, _PODS = 100, 1_000


def run() -> list[Row]:
    spent = asyncio.run(_over_the_wire())
    return [
        Row(f"one decision among {_NODES} nodes", _decision_us(), "µs"),
        Row(f"{_PODS} pods placed on {_NODES} nodes, over the wire", spent.wall_s, "s", 5),
        Row("CPU of the scheduler's process for each of them", spent.cpu_s / _PODS * 1e3, "ms"),
    ]


def _decision_us() -> float:
    state, cycle = ClusterState(), Cycle(random.Random(1))
    for number in range(_NODES):
        state.put_node(KubeObject.from_dict(_node(number)))
    pods = [PodView.read(KubeObject.from_dict(_pod(number))) for number in range(_PODS)]
    begun = time.perf_counter()
    for pod in pods:
        decision = cycle.decide(pod, state.nodes)
        assert isinstance(decision, Placed)
        state.assume(pod, decision.node)
    return (time.perf_counter() - begun) / _PODS * 1e6


async def _over_the_wire() -> CpuTimer:
    with _server() as config:
        async with Client(config) as client, SharedInformerFactory(client) as informers:
            for number in range(_NODES):
                await client.core_v1.nodes.create(_node(number))
                # As the lifecycle controller does once a node is ready.
                await client.core_v1.nodes.patch(f"n{number}", {"spec": {"taints": None}})
            for number in range(_PODS):
                await client.core_v1.pods.create(_pod(number))
            placed, done = set[str](), asyncio.Event()

            def count(pod: KubeObject) -> None:
                if pod.spec.nodeName:
                    placed.add(pod.name)
                if len(placed) == _PODS:
                    done.set()

            informers.informer("pods").add_handler(count, lambda _, pod: count(pod))
            informers.start()
            await informers.wait_for_cache_sync()
            async with background(Scheduler(client, SystemClock()).run()):
                with CpuTimer() as spent:
                    await done.wait()
            return spent


@contextmanager
def _server() -> Iterator[ClientConfig]:
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "proreus.cli.main", "server", "--port", "0"]
        command += ["--disable-admission-plugins", "ServiceAccount"]  # nobody makes accounts
        process = subprocess.Popen(
            [*command, "--data-dir", folder], stdout=subprocess.PIPE, text=True
        )
        try:
            assert process.stdout is not None
            process.stdout.readline()  # ready
            yield replace(load_config(Path(folder) / "kubeconfig"), rate_limit=None)
        finally:
            process.terminate()
            process.wait(20)


def _node(number: int) -> dict[str, Any]:
    name = f"n{number}"
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}},
        "status": {"allocatable": {"cpu": "16", "memory": "64Gi", "pods": "110"}},
    }


def _pod(number: int) -> dict[str, Any]:
    requests = {"cpu": "100m", "memory": "64Mi"}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": f"p{number}", "namespace": "default", "uid": str(number)},
        "spec": {"containers": [{"name": "c", "image": "i", "resources": {"requests": requests}}]},
    }
