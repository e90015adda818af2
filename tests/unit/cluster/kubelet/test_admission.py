"""A node takes the pods that it has room for and that want it; others have failed."""

from __future__ import annotations

from typing import Any

import pytest

from proreus.api.object import KubeObject
from proreus.cluster.kubelet.admission import NodeAllocations

Spec = dict[str, Any]


def pod(name: str, *, phase: str = "Pending", **spec: Any) -> KubeObject:
    return KubeObject.from_dict(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name, "namespace": "d", "uid": f"uid of {name}"},
            "spec": {"nodeName": "n", "containers": [{"name": "c", "image": "i"}], **spec},
            "status": {"phase": phase},
        }
    )


def node(**more: Any) -> KubeObject:
    allocatable = {"cpu": "2", "memory": "1Gi", "pods": "3", "example.com/known": "1"}
    return KubeObject.from_dict(
        {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": "n", "labels": {"disk": "ssd"}},
            "spec": more,
            "status": {"allocatable": allocatable},
        }
    )


def asking(**requests: str) -> Spec:
    return {"containers": [{"name": "c", "image": "i", "resources": {"requests": requests}}]}


def listening(port: int, **more: str) -> Spec:
    ports = [{"containerPort": 80, "hostPort": port, **more}]
    return {"containers": [{"name": "c", "image": "i", "ports": ports}]}


def affinity(operator: str) -> Spec:
    expression = {"key": "disk", "operator": operator, "values": ["ssd"]}
    required = {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}
    kinds = {"requiredDuringSchedulingIgnoredDuringExecution": required}
    return {"affinity": {"nodeAffinity": kinds}}


def setting(*sysctls: str) -> Spec:
    return {"securityContext": {"sysctls": [{"name": name, "value": "1"} for name in sysctls]}}


class Room:
    """A room whose pods are there until ``end`` says otherwise."""

    def __init__(self) -> None:
        self._there: dict[str, KubeObject] = {}
        self.room = NodeAllocations(self._there.get)

    def admit(self, wanted: KubeObject, to: KubeObject | None) -> str:
        self._there[wanted.key] = wanted
        rejection = self.room.admit(wanted, to)
        return f"{rejection.reason}: {rejection.message}" if rejection else ""

    def take(self, running: KubeObject) -> None:
        self._there[running.key] = running
        self.room.take(running)

    def end(self, name: str) -> None:
        self._there[f"d/{name}"] = pod(name, phase="Succeeded")


PREFIX = "Node didn't have enough resource: "
CASES: list[tuple[Spec, str]] = [
    ({}, ""),
    (asking(cpu="2", memory="1Gi"), ""),
    (asking(cpu="2001m"), f"OutOfcpu: {PREFIX}cpu, requested: 2001, used: 0, capacity: 2000"),
    (
        asking(memory="2Gi"),
        f"OutOfmemory: {PREFIX}memory, requested: 2147483648, used: 0, capacity: 1073741824",
    ),
    (
        asking(**{"ephemeral-storage": "1"}),
        f"OutOfephemeral-storage: {PREFIX}ephemeral-storage, requested: 1, used: 0, capacity: 0",
    ),
    (asking(**{"example.com/unknown": "5"}), ""),
    (
        asking(**{"example.com/known": "5"}),
        f"OutOfexample.com/known: {PREFIX}example.com/known, requested: 5, used: 0, capacity: 1",
    ),
    ({"nodeSelector": {"disk": "ssd"}}, ""),
    (
        {"nodeSelector": {"disk": "tape"}},
        "NodeAffinity: Predicate NodeAffinity failed: "
        "node(s) didn't match Pod's node affinity/selector",
    ),
    (affinity("In"), ""),
    (
        affinity("NotIn"),
        "NodeAffinity: Predicate NodeAffinity failed: "
        "node(s) didn't match Pod's node affinity/selector",
    ),
    (
        {"os": {"name": "windows"}},
        "PodOSNotSupported: Failed to admit pod as the OS field doesn't match node OS",
    ),
    ({"os": {"name": "linux"}}, ""),
    (setting("kernel.shm_rmid_forced", "net/ipv4/tcp_syncookies"), ""),
    (
        setting("kernel.shm_rmid_forced", "kernel.msgmax"),
        'SysctlForbidden: forbidden sysctl: "kernel.msgmax" not allowlisted',
    ),
]


@pytest.mark.parametrize(("spec", "said"), CASES)
def test_a_pod_must_fit_its_node(spec: Spec, said: str) -> None:
    assert Room().admit(pod("p", **spec), node()) == said


def test_only_taints_that_end_pods_keep_them_out() -> None:
    taints = [{"key": "a", "effect": "NoSchedule"}, {"key": "b", "effect": "NoExecute"}]
    tolerant: Spec = {"tolerations": [{"key": "b", "operator": "Exists", "effect": "NoExecute"}]}
    said = "TaintToleration: Predicate TaintToleration failed: "
    said += "node(s) had taints that the pod didn't tolerate"

    assert Room().admit(pod("p"), node(taints=taints)) == said
    assert Room().admit(pod("p"), node(taints=taints[:1])) == ""
    assert Room().admit(pod("p", **tolerant), node(taints=taints)) == ""


def test_a_port_of_the_node_is_one_pods() -> None:
    room, here = Room(), node()
    taken = "NodePorts: Predicate NodePorts failed: "
    taken += "node(s) didn't have free ports for the requested pod ports"

    assert room.admit(pod("first", **listening(8080)), here) == ""
    assert room.admit(pod("second", **listening(8080)), here) == taken
    assert room.admit(pod("third", **listening(8080, protocol="UDP")), here) == ""
    room.room.release("n", "uid of first")
    assert room.admit(pod("second", **listening(8080)), here) == ""


def test_the_room_of_a_pod_whose_end_was_only_seen_is_free() -> None:
    room, here = Room(), node()
    room.admit(pod("first", **listening(8080)), here)
    for name in ("second", "third"):
        room.admit(pod(name), here)

    assert room.admit(pod("new"), here).startswith("OutOfpods: ")
    room.end("first")

    assert room.admit(pod("new", **listening(8080)), here) == ""
    assert room.admit(pod("newer"), here).endswith("pods, requested: 1, used: 3, capacity: 3")


def test_what_runs_already_counts_and_a_node_not_yet_known_takes_everything() -> None:
    room = Room()
    room.take(pod("running", **asking(cpu="1500m")))

    assert room.admit(pod("early", **asking(cpu="100")), None) == ""
    room.room.release("n", "uid of early")
    said = room.admit(pod("late", **asking(cpu="1")), node())

    assert said == f"OutOfcpu: {PREFIX}cpu, requested: 1000, used: 1500, capacity: 2000"


def test_a_pod_that_runs_is_given_what_it_asks_for_now_if_there_is_room() -> None:
    room = Room()
    assert room.admit(pod("a", **asking(cpu="1")), node()) == ""
    assert room.admit(pod("b", **asking(cpu="500m")), node()) == ""

    grown = room.room.resize(pod("a", **asking(cpu="1500m")), node())
    deferred = room.room.resize(pod("b", **asking(cpu="600m")), node())
    infeasible = room.room.resize(pod("b", **asking(cpu="3")), node())
    shrunk = room.room.resize(pod("a", **asking(cpu="100m")), node())
    later = room.room.resize(pod("b", **asking(cpu="600m")), node())

    assert (grown, shrunk, later) == (None, None, None)
    assert deferred is not None
    assert deferred.reason == "Deferred"
    assert deferred.message == f"{PREFIX}cpu, requested: 600, used: 1500, capacity: 2000"
    assert infeasible is not None
    assert infeasible.reason == "Infeasible"
    said = "Node didn't have enough capacity: cpu, requested: 3000, capacity: 2000"
    assert infeasible.message == said
