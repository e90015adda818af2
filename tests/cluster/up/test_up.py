"""``proreus up`` as a user runs it, driven by kubectl."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from proreus.cli.main import main
from proreus.client import Client, load_config
from tests.closing import all_closed
from tests.cluster.up.kubectl import Kubectl, kubectl_of
from tests.kubectl import needs_kubectl
from tests.running_server import running_server

pytestmark = needs_kubectl


def test_nodes_are_ready(kubectl: Kubectl) -> None:
    kubectl("wait", "--for=create", "node/node-2", "--timeout=60s")
    kubectl("wait", "--for=condition=Ready", "node", "--all", "--timeout=60s")

    assert kubectl("get", "nodes", "-o", "name").split() == ["node/node-1", "node/node-2"]


def test_a_pod_is_scheduled_runs_and_ends_gracefully(kubectl: Kubectl) -> None:
    kubectl("run", "web", "--image=nginx")
    kubectl("wait", "--for=condition=Ready", "pod/web", "--timeout=60s")

    printed = kubectl("get", "pod", "web", "-o", "wide")
    assert "1/1" in printed
    assert "Running" in printed
    assert "node-" in printed

    assert "web" in kubectl("delete", "pod", "web", "--timeout=60s")
    assert kubectl("get", "pods", "-o", "name") == ""
    reasons = ("get", "events", "-o", "jsonpath={.items[*].reason}")
    kubectl.until(lambda said: {"Scheduled", "Started", "Killing"} <= {*said.split()}, *reasons)


def test_a_pod_that_fits_nowhere_says_so(kubectl: Kubectl) -> None:
    overrides = '{"spec":{"nodeSelector":{"disk":"gold"}}}'
    kubectl("run", "picky", "--image=nginx", f"--overrides={overrides}")
    kubectl("wait", "--for=condition=PodScheduled=False", "pod/picky", "--timeout=60s")

    kubectl.prints("FailedScheduling", "describe", "pod", "picky")
    why = "2 node(s) didn't match Pod's node affinity/selector"
    kubectl.prints(why, "describe", "pod", "picky")

    kubectl("label", "node", "node-1", "disk=gold")
    kubectl("wait", "--for=condition=Ready", "pod/picky", "--timeout=60s")
    kubectl("delete", "pod", "picky", "--timeout=60s")


def test_the_dashboard_is_served_and_every_part_reports_to_its_debug_pages(
    kubectl: Kubectl,
) -> None:
    assert "<!doctype html>" in kubectl("get", "--raw", "/dashboard/")
    link = CliRunner().invoke(main, ["dashboard", "--kubeconfig", str(kubectl.kubeconfig)])
    assert "/dashboard/login?code=" in link.output, link.output

    users = ("system:kube-controller-manager", "system:kube-scheduler", "system:node:node-2")
    clients = ("get", "--raw", "/debug/listwatch/clients")
    kubectl.until(lambda said: all(f'"user":"{user}"' in said for user in users), *clients)


def test_a_second_start_finds_everything(tmp_path: Path) -> None:
    with running_server(tmp_path, command="up") as cluster:
        kubectl = kubectl_of(cluster)
        kubectl("run", "web", "--image=nginx")
        kubectl("wait", "--for=condition=Ready", "pod/web", "--timeout=60s")
        started = kubectl("get", "pod", "web", "-o", "jsonpath={.status}")

        cluster.process.send_signal(signal.SIGINT)
        assert cluster.process.wait(timeout=60) == 0

    with running_server(tmp_path, command="up") as cluster:
        kubectl = kubectl_of(cluster)
        kubectl("run", "second", "--image=nginx")
        kubectl("wait", "--for=condition=Ready", "pod/second", "--timeout=60s")
        assert kubectl("get", "pod", "web", "-o", "jsonpath={.status}") == started
        kubectl("delete", "pod", "web", "second", "--timeout=60s")


def test_parts_run_alone_against_any_server(tmp_path: Path) -> None:
    with running_server(tmp_path, "--without", "scheduler,kubelet", command="up") as cluster:
        kubectl = kubectl_of(cluster)
        kubectl("run", "web", "--image=nginx")
        parts = [
            subprocess.Popen(
                [sys.executable, "-m", "proreus.cli.main", name], env=cluster.environment,
                stdout=subprocess.PIPE, text=True,
            )
            for name in ("scheduler", "kubelet")
        ]  # fmt: skip
        try:
            kubectl("wait", "--for=condition=Ready", "pod/web", "--timeout=60s")
        finally:
            for part in parts:
                part.send_signal(signal.SIGINT)
            said = [part.communicate(timeout=60)[0] for part in parts]

    assert "proreus scheduler is running against https://" in said[0]
    assert [part.returncode for part in parts] == [0, 0]


def test_a_simulated_container_has_a_log_and_no_processes(kubectl: Kubectl) -> None:
    kubectl("run", "quiet", "--image=nginx")
    kubectl("wait", "--for=condition=Ready", "pod/quiet", "--timeout=60s")

    assert kubectl("logs", "quiet") == "simulated container quiet started\n"
    with pytest.raises(AssertionError, match="a simulated container has no processes"):
        kubectl("exec", "quiet", "--", "true")
    kubectl("delete", "pod", "quiet", "--timeout=60s")


async def test_events_are_forgotten_after_their_time(tmp_path: Path) -> None:
    with running_server(tmp_path, "--event-ttl", "3s", command="up") as cluster:
        kubectl = kubectl_of(cluster)
        async with (
            Client(load_config(cluster.kubeconfig)) as client,
            client.core_v1.events("default").watch() as events,
        ):
            kubectl("run", "web", "--image=nginx")
            # Watched: by the time that kubectl has asked, it may be forgotten.
            async with asyncio.timeout(60):
                while (await anext(events)).object.get("reason") != "Scheduled":
                    pass

        kubectl("wait", "--for=condition=Ready", "pod/web", "--timeout=60s")
        kubectl.until(lambda said: not said, "get", "events", "-A", "-o", "name")

        assert "Running" in kubectl("get", "pod", "web")
    await all_closed()


def test_real_processes_are_one_node(tmp_path: Path) -> None:
    asked = ["up", "--data-dir", str(tmp_path), "--runtime", "process", "--nodes", "2"]
    refused = CliRunner().invoke(main, asked)

    assert refused.exit_code == 2
    assert "--runtime process is one node: this machine" in refused.output


def test_an_unknown_part_is_refused() -> None:
    refused = CliRunner().invoke(main, ["up", "--without", "kublet"])

    assert refused.exit_code == 2
    assert "'kublet' is not one of controllers, scheduler, kubelet" in refused.output
