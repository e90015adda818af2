"""Kubelets are killed, ended and started again: nothing runs twice, nothing is left."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from proreus.aio.clock import SystemClock
from proreus.client import Client, KubeObject, load_config
from proreus.client.event_recorder import EventRecorder
from proreus.cluster.kubelet.runtimes.process.guard_process import FolderInUse
from proreus.cluster.kubelet.runtimes.process.runtime import ProcessRuntime
from proreus.testing.server import RunningServer
from tests.cluster.process_runtime.conftest import Stage, shell, state, until_so
from tests.ports import reserved_port
from tests.processes import wait_gone
from tests.running_server import running_server

NODE = "node-1"


@contextlib.contextmanager
def kubelet(kubeconfig: Path | None, folder: Path) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [sys.executable, "-m", "proreus.cli.main", "kubelet", "--runtime", "process"]
        + ["--kubeconfig", str(kubeconfig), "--data-dir", str(folder)],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "HOME": str(folder)},
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate(timeout=60)


async def pids(path: Path, count: int) -> list[int]:
    """Of the processes that a container wrote down."""
    await until_so(lambda: path.exists() and len(path.read_text().split()) >= count)
    return [int(pid) for pid in path.read_text().split()]


# The last one is a daemon: without an environment, in a session of its own, an orphan.
TREE = (
    "sleep 1000 & echo $! > pids.part; setsid sleep 1000 & echo $! >> pids.part;"
    "(env -i setsid sleep 1000 & echo $! >> pids.part);"
    "echo $$$$ >> pids.part; mv pids.part pids; wait"
)


async def on_node(stage: Stage, name: str, *containers: dict[str, Any], **spec: Any) -> KubeObject:
    return await stage.run(name, *containers, nodeName=NODE, **spec)


@pytest.fixture
async def outside(server: RunningServer, tmp_path: Path) -> Any:
    """A stage whose node is run by programs that the test starts."""
    async with Client(replace(server.config(), rate_limit=None)) as client:
        yield Stage(server, client, tmp_path / "kubelet")


def root_of(stage: Stage, pod: KubeObject) -> Path:
    return stage.folder / NODE / "pods" / pod.uid / "containers/c1/root"


async def test_a_killed_kubelet_takes_its_containers_along_and_the_next_starts_them_anew(
    outside: Stage, tmp_path: Path
) -> None:
    pod = await on_node(outside, "tree", shell(TREE), terminationGracePeriodSeconds=1)
    with kubelet(outside.server.kubeconfig, tmp_path) as first:
        await outside.ready("tree")
        before = await pids(root_of(outside, pod) / "pids", 4)
        first.kill()
        first.wait(timeout=60)
        for pid in before:
            await wait_gone(pid)  # also without a next kubelet

    with kubelet(outside.server.kubeconfig, tmp_path) as second:
        again = await outside.until("tree", lambda pod: bool(state(pod).restartCount == 1))
        last = state(again).lastState.terminated
        assert (last.exitCode, last.reason) == (137, "ContainerStatusUnknown")
        after = await pids(root_of(outside, pod) / "pids", 4)
        assert not set(after) & set(before)

        second.send_signal(signal.SIGINT)

        assert await asyncio.to_thread(second.wait, 60) == 0
        for pid in after:
            await wait_gone(pid)


SPOIL = (
    "cd ..; for file in process.json ../../../../lock root/dev/termination-log; do"
    " rm -f $file; mkfifo $file; done; cd root; echo $$$$ > pids.part; mv pids.part pids;"
)


async def test_files_that_a_container_replaced_by_fifos_hold_up_neither_kubelet_nor_its_next(
    outside: Stage, tmp_path: Path
) -> None:
    ended = await on_node(outside, "ended", shell(SPOIL), restartPolicy="Never")
    running = await on_node(outside, "running", shell(SPOIL + "exec sleep 1000"))
    with kubelet(outside.server.kubeconfig, tmp_path) as first:
        await outside.phase("ended", "Succeeded")
        await outside.ready("running")  # a start that was never reported is no restart
        before = await pids(root_of(outside, running) / "pids", 1)
        first.kill()
        first.wait(timeout=60)
    assert (root_of(outside, ended) / "dev/termination-log").is_fifo()

    with kubelet(outside.server.kubeconfig, tmp_path):
        await outside.until("running", lambda pod: bool(state(pod).restartCount == 1))
        await wait_gone(before[0])
        await outside.delete("running", grace_s=1)


async def test_pods_that_went_while_the_kubelet_was_away_leave_nothing(
    outside: Stage, tmp_path: Path
) -> None:
    gone = await on_node(outside, "gone", shell("sleep 1000"))
    done = await on_node(outside, "done", shell("echo said"), restartPolicy="Never")
    with kubelet(outside.server.kubeconfig, tmp_path) as first:
        await outside.ready("gone")
        await outside.phase("done", "Succeeded")
        first.kill()
        first.wait(timeout=60)
    await outside.delete("gone", grace_s=0)
    nodes = outside.client.core_v1.nodes
    port = _log_port(await nodes.get(NODE))

    with kubelet(outside.server.kubeconfig, tmp_path):
        await on_node(outside, "next", shell("sleep 1000"))
        await outside.ready("next")
        folders = outside.folder / NODE / "pods"
        await until_so(lambda: not (folders / gone.uid).exists())
        await nodes.wait_for(NODE, lambda node: _log_port(node) != port, timeout_s=60)
        assert await outside.logs("done") == "said\n"  # as long as the pod is there
        assert (folders / done.uid).exists()


def _log_port(node: KubeObject | None) -> int:
    """Where the API server asks for logs: each kubelet has a port of its own."""
    return node.status.daemonEndpoints.kubeletEndpoint.Port if node is not None else 0


async def test_however_often_a_kubelet_is_killed_nothing_ever_runs_twice(
    outside: Stage, tmp_path: Path
) -> None:
    """Each start takes a lock that all of its children hold; a second at a time would be seen."""
    shared = tmp_path / "shared"
    shared.mkdir()
    script = (
        "exec 9> shared/lock; flock -n 9 || { touch shared/twice; exit 1; };"
        "echo begun >> shared/starts; setsid sleep 1000 & sleep 1000 & wait"
    )
    mounts = [{"name": "shared", "mountPath": "/shared"}]
    volumes = [{"name": "shared", "hostPath": {"path": str(shared)}}]
    await on_node(outside, "alone", shell(script, volumeMounts=mounts), volumes=volumes)

    for killed in range(4):
        with kubelet(outside.server.kubeconfig, tmp_path):  # killed when the body ends
            await until_so(partial(_has_begun, shared / "starts", killed + 1))
            if killed % 2 == 0:  # else at the first moment, before it is reported
                await outside.until("alone", partial(_has_restarted, times=killed // 2))
        assert not (shared / "twice").exists()

    assert _count(shared / "starts") == 4


def _has_begun(path: Path, times: int) -> bool:
    return _count(path) >= times


def _count(path: Path) -> int:
    return len(path.read_text().splitlines()) if path.exists() else 0


def _has_restarted(pod: KubeObject, times: int) -> bool:
    """And runs: so many of its ends were seen by a kubelet that lived to tell."""
    statuses = pod.status.containerStatuses
    return bool(statuses) and statuses[0].restartCount >= times and bool(statuses[0].state.running)


def _has_succeeded(pod: KubeObject | None) -> bool:
    return pod is not None and pod.status.phase == "Succeeded"


async def test_containers_go_on_without_the_api_server(tmp_path: Path) -> None:
    script = "echo $$$$ > pid; while ! test -e go; do sleep 0.05; done; echo seen"
    body = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "patient"},
        "spec": {
            "nodeName": NODE,
            "restartPolicy": "Never",
            "containers": [{"name": "c1", "image": "none", **shell(script)}],
        },
    }
    without = ("--disable-admission-plugins", "ServiceAccount")  # which a controller would make
    with contextlib.ExitStack() as programs:
        port = ("--port", str(programs.enter_context(reserved_port())))
        with running_server(tmp_path, *port, *without) as server:
            config = load_config(server.kubeconfig)
            programs.enter_context(kubelet(server.kubeconfig, tmp_path))
            async with Client(config) as client:
                await client.core_v1.pods("default").create(body)
                pod = await client.core_v1.pods("default").wait_for(
                    "patient", "condition=Ready", timeout_s=60
                )
            assert pod is not None
            server.process.kill()
        root = tmp_path / "kubelet" / NODE / "pods" / pod.uid / "containers/c1/root"
        (pid,) = await pids(root / "pid", 1)

        (root / "go").touch()
        await wait_gone(pid)

        with running_server(tmp_path, *port) as server:
            async with Client(config) as client:
                pods = client.core_v1.pods("default")
                await pods.wait_for("patient", _has_succeeded, timeout_s=60)
                assert await pods.logs("patient") == "seen\n"


async def test_one_folder_has_one_kubelet(stage: Stage) -> None:
    clock = SystemClock()
    recorder = EventRecorder(stage.client.core_v1.events, "test", clock=clock)
    second = ProcessRuntime(stage.client, clock, recorder, stage.folder / "machine", {})

    with pytest.raises(FolderInUse, match="another kubelet runs in"):
        async with second.running(lambda key: None):
            pass
