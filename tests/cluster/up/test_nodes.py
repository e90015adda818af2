"""Nodes that fall silent, come back or never do, as kubectl shows them and their pods."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from tests.cluster.up.kubectl import Kubectl
from tests.faults.cluster.programs import Cluster, Program, cluster
from tests.kubectl import needs_kubectl

pytestmark = needs_kubectl
FINISHED_MAX = 3
FLAGS = (
    "--without", "kubelet",
    "--node-monitor-grace-period", "6s",
    "--pod-gc-period", "1s",
    "--terminated-pod-gc-threshold", str(FINISHED_MAX),
)  # fmt: skip
DEPLOYMENT = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 4
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers: [{name: main, image: "web:1"}]
      tolerations:
      - key: node.kubernetes.io/unreachable
        operator: Exists
        effect: NoExecute
        tolerationSeconds: 0
      topologySpreadConstraints:
      - maxSkew: 1
        topologyKey: kubernetes.io/hostname
        whenUnsatisfiable: ScheduleAnyway
        labelSelector: {matchLabels: {app: web}}
"""


@dataclass(frozen=True, slots=True)
class Machines:
    """Every node is a kubelet in a process of its own."""

    cluster: Cluster
    kubectl: Kubectl

    def add(self, name: str) -> Program:
        """The node is ``name-1``; it tells every second that it is alive."""
        folder = str(self.cluster.folder / name)
        flags = ("--name-prefix", name, "--data-dir", folder, "--node-lease-duration-seconds", "4")
        program = self.cluster.add(name, "kubelet", *flags)
        self.kubectl("wait", "--for=create", f"node/{name}-1", "--timeout=60s")
        self.wait_trusted(f"{name}-1")
        return program

    def wait_trusted(self, node: str) -> None:
        self.kubectl("wait", "--for=condition=Ready", f"node/{node}", "--timeout=60s")
        taints = ("get", "node", node, "-o", "jsonpath={.spec.taints}")
        self.kubectl.until(lambda said: not said, *taints)

    def pods_on(self, node: str) -> tuple[str, ...]:
        """What to ask kubectl for."""
        return "pods", "-l", "app=web", "--field-selector", f"spec.nodeName={node}"


@pytest.fixture(scope="module")
def machines(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machines]:
    with cluster(tmp_path_factory.mktemp("nodes"), "up", *FLAGS) as made:
        machines = Machines(made, Kubectl(made.kubeconfig))
        machines.add("steady")
        yield machines


def deployed(machines: Machines) -> None:
    machines.kubectl("apply", "-f", "-", stdin=DEPLOYMENT)
    machines.kubectl("rollout", "status", "deployment/web", "--timeout=60s")


def removed(machines: Machines) -> None:
    machines.kubectl("delete", "deployment/web", "--timeout=60s")
    machines.kubectl("wait", "--for=delete", "pods", "-l", "app=web", "--timeout=60s")


def test_pods_leave_a_silent_node_and_the_node_may_come_back(machines: Machines) -> None:
    kubectl = machines.kubectl
    program = machines.add("sleepy")
    deployed(machines)
    before = kubectl("get", *machines.pods_on("sleepy-1"), "-o", "name").split()
    assert before, "the pods are spread"

    program.freeze()
    kubectl("wait", "--for=condition=Ready=Unknown", "node/sleepy-1", "--timeout=60s")
    assert "NotReady" in kubectl("get", "node", "sleepy-1")
    kubectl.prints("node.kubernetes.io/unreachable:NoExecute", "describe", "node", "sleepy-1")
    assert "Kubelet stopped posting node status." in kubectl("describe", "node", "sleepy-1")
    steady = machines.pods_on("steady-1")
    kubectl.until(lambda said: said.count(" Running ") == 4, "get", *steady)
    kubectl("rollout", "status", "deployment/web", "--timeout=60s")
    # Nobody there could confirm their end, so that they are still listed.
    printed = kubectl("get", *machines.pods_on("sleepy-1"))
    assert printed.count("Terminating") == len(before)
    kubectl.prints("NodeNotReady", "get", "events", "-A")
    kubectl.prints("TaintManagerEviction", "get", "events", "-A")

    program.thaw()
    machines.wait_trusted("sleepy-1")
    kubectl("wait", "--for=delete", *machines.pods_on("sleepy-1"), "--timeout=60s")
    assert " Ready " in kubectl("get", "node", "sleepy-1")
    removed(machines)


def test_the_pods_of_a_deleted_node_are_removed_and_replaced(machines: Machines) -> None:
    kubectl = machines.kubectl
    program = machines.add("doomed")
    deployed(machines)
    pinned = '{"spec":{"nodeName":"doomed-1"}}'
    kubectl("run", "alone", "--image=web:1", f"--overrides={pinned}")
    kubectl("wait", "--for=condition=Ready", "pod/alone", "--timeout=60s")

    program.kill()
    kubectl("delete", "node", "doomed-1", "--timeout=60s")

    kubectl("wait", "--for=delete", "pod/alone", "--timeout=60s")
    kubectl("wait", "--for=delete", *machines.pods_on("doomed-1"), "--timeout=60s")
    kubectl("rollout", "status", "deployment/web", "--timeout=60s")
    assert "doomed-1" not in kubectl("get", "pods", "-A", "-o", "wide")
    kubectl("wait", "--for=delete", "lease/doomed-1", "-n", "kube-node-lease", "--timeout=60s")
    removed(machines)


def test_of_many_finished_pods_some_are_kept(machines: Machines) -> None:
    kubectl = machines.kubectl
    concurrently = "--annotations=proreus.dev/exit-after=0s"

    for number in range(FINISHED_MAX + 2):
        kubectl(
            "run",
            f"done-{number}",
            "--image=i",
            "--restart=Never",
            "--labels=app=done",
            concurrently,
        )

    left = ("get", "pods", "-l", "app=done")
    kubectl.until(
        lambda said: said.count("Completed") == said.count("done-") == FINISHED_MAX, *left
    )
