"""Kubernetes' own control plane: kube-apiserver, kube-controller-manager and kube-scheduler.

Their clients may ask as often as they can, as ours may; all else has its default. Nobody elects a
leader. The nodes are ours: hollow ones of Kubernetes wait for a client that asks five times a
second.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks._peers import Peers
from benchmarks._peers.kube_apiserver import running_kube_apiserver

_FLAGS = ("--leader-elect=false", "--kube-api-qps=1000", "--kube-api-burst=2000")


@dataclass(frozen=True, slots=True)
class ControlPlane:
    kubeconfig: Path
    pids: dict[str, int]


@contextmanager
def running_control_plane(peers: Peers, etcd_url: str, folder: Path) -> Iterator[ControlPlane]:
    """``folder``: for its files. Needs all three binaries."""
    binaries = (peers.kube_controller_manager, peers.kube_scheduler)
    assert peers.kube_apiserver is not None and None not in binaries
    with ExitStack() as started:
        server = started.enter_context(running_kube_apiserver(peers.kube_apiserver, etcd_url))
        kubeconfig = folder / "kubeconfig"
        kubeconfig.write_text(_kubeconfig(server.port, server.token))
        pids = {"server": server.pid}
        for part, binary in zip(("controllers", "scheduler"), binaries, strict=True):
            log = started.enter_context((folder / f"{part}.log").open("wb"))
            command = [str(binary), "--kubeconfig", str(kubeconfig), "--secure-port=0", *_FLAGS]
            process = subprocess.Popen(command, stdout=log, stderr=log)
            started.callback(_end, process)
            pids[part] = process.pid
        yield ControlPlane(kubeconfig, pids)


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    process.wait(60)


def _kubeconfig(port: int, token: str) -> str:
    cluster = {"server": f"https://127.0.0.1:{port}", "insecure-skip-tls-verify": True}
    return json.dumps(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "peer", "cluster": cluster}],
            "users": [{"name": "admin", "user": {"token": token}}],
            "contexts": [{"name": "peer", "context": {"cluster": "peer", "user": "admin"}}],
            "current-context": "peer",
        }
    )
