"""A part that dies in a running cluster is started again, loudly, and the cluster goes on."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster.up import mortal_up
from tests.cluster.up.kubectl import Kubectl
from tests.faults.cluster.programs import Cluster, cluster
from tests.kubectl import needs_kubectl

pytestmark = needs_kubectl
MODULE = "tests.cluster.up.mortal_up"


@pytest.fixture(scope="module")
def up(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with cluster(tmp_path_factory.mktemp("restarts"), "up", module=MODULE) as made:
        yield made


def deaths(up: Cluster, part: str) -> list[float]:
    """The delays that were announced, one per death."""
    said = re.findall(
        rf"part died, restarting: part={part} delay_s=([0-9.]+)", up.main.log.read_text()
    )
    return [float(delay) for delay in said]


def strike(up: Cluster, kubectl: Kubectl, part: str) -> None:
    known = len(deaths(up, part))
    os.kill(up.main.pid, mortal_up.BLOWS[part])
    kubectl.until(lambda _: len(deaths(up, part)) > known, "version")


@pytest.mark.parametrize("part", mortal_up.BLOWS)
def test_a_part_that_dies_is_said_restarted_and_missed_by_nobody(up: Cluster, part: str) -> None:
    kubectl, name = Kubectl(up.kubeconfig), part.replace(" ", "-")
    kubectl("create", "deployment", name, "--image=web:1", "--replicas=2")
    kubectl("rollout", "status", f"deployment/{name}", "--timeout=60s")

    strike(up, kubectl, part)
    kubectl("scale", f"deployment/{name}", "--replicas=4")
    kubectl("rollout", "status", f"deployment/{name}", "--timeout=60s")
    strike(up, kubectl, part)
    kubectl("set", "image", f"deployment/{name}", "web=web:2")
    kubectl("rollout", "status", f"deployment/{name}", "--timeout=60s")
    kubectl("delete", f"deployment/{name}", "--cascade=foreground", "--timeout=60s")

    assert kubectl("get", "pods", "-l", f"app={name}", "-o", "name") == ""
    first, second = deaths(up, part)
    assert first <= second, "it is tried more slowly each time"
    log = up.main.log.read_text()
    assert log.count(f"RuntimeError: {part}: struck") == 2, "the reason is logged"
    assert up.main.process is not None
    assert up.main.process.poll() is None, "nobody else was taken along"


def test_containers_are_run_again_after_their_kubelet_died(tmp_path: Path) -> None:
    command = ("sh", "-c", "echo begun; exec sleep 600")
    with cluster(tmp_path, "up", "--runtime", "process", module=MODULE) as up:
        kubectl = Kubectl(up.kubeconfig)
        kubectl("create", "deployment", "web", "--image=none", "--", *command)
        kubectl("rollout", "status", "deployment/web", "--timeout=60s")
        kubectl.prints("begun", "logs", "deployment/web")  # ready is not yet begun

        strike(up, kubectl, "kubelet")

        restarts = "jsonpath={.items[*].status.containerStatuses[0].restartCount}"
        kubectl.until(lambda said: said == "1", "get", "pods", "-l", "app=web", "-o", restarts)
        kubectl("rollout", "status", "deployment/web", "--timeout=60s")
        assert kubectl.prints("begun", "logs", "deployment/web") == "begun\n"
        assert kubectl("logs", "deployment/web", "--previous") == "begun\n"
        assert up.main.stop() == 0
