"""What does one reconcile cost a controller: event → reconcile → apply → its own event?

The server is a process of its own, over TLS, so what is measured is the client alone.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

from benchmarks.report import CpuTimer, Row
from proreus.aio.tasks import background
from proreus.client import Client, load_config
from proreus.client.controller import Controller, Request
from proreus.client.informer import SharedInformerFactory

ROUNDS = 1_000


def run() -> list[Row]:
    with tempfile.TemporaryDirectory() as folder:
        server = subprocess.Popen(
            [
                *(sys.executable, "-m", "proreus.cli.main", "server"),
                "--port=0",
                f"--data-dir={folder}",
            ],
            stdout=subprocess.PIPE,
            text=True,
        )
        try:
            assert server.stdout is not None
            for line in server.stdout:
                if "export KUBECONFIG=" in line:
                    break
            cpu_s = asyncio.run(measure(Path(folder) / "kubeconfig"))
        finally:
            server.terminate()
            server.communicate()
    question = "event, reconcile, apply, own event: client alone"
    return [Row(question, cpu_s / ROUNDS * 1e3, "ms of CPU", 1.5)]


async def measure(kubeconfig: Path) -> float:
    config = replace(load_config(kubeconfig), rate_limit=None)
    finished, rounds = asyncio.Event(), 0
    async with Client(config) as client, SharedInformerFactory(client) as informers:
        maps = client.core_v1.configmaps("default")
        await maps.create({"metadata": {"name": "counted"}, "data": {"n": "0"}})

        async def reconcile(request: Request) -> None:
            nonlocal rounds
            rounds += 1
            if rounds > ROUNDS:
                finished.set()
                return
            body = {"metadata": {"name": "counted"}, "data": {"n": str(rounds)}}
            await maps.apply({"apiVersion": "v1", "kind": "ConfigMap", **body}, force=True)

        counted = informers.informer(
            "configmaps", namespace="default", field_selector="metadata.name=counted"
        )
        informers.start()
        await informers.wait_for_cache_sync()
        with CpuTimer() as timer:
            async with background(Controller(reconcile, counted).run()):
                await finished.wait()
    return timer.cpu_s
