"""A node that is this machine says what the machine has."""

from __future__ import annotations

import ipaddress
import os
from pathlib import Path

import pytest

from proreus.api.object import KubeObject
from proreus.api.values.quantity import amount
from proreus.cluster.kubelet.machine import loopback_addresses, machine_capacity, machine_system
from proreus.cluster.kubelet.node import (
    KubeletEndpoint,
    NodeDescription,
    is_allocatable,
    node_object,
    node_status,
    status_patch,
)


def test_the_machine_is_measured(tmp_path: Path) -> None:
    capacity, system = machine_capacity(tmp_path), machine_system()

    assert capacity["cpu"] == str(os.cpu_count())
    assert amount(capacity["memory"]) > 2**20
    assert amount(capacity["ephemeral-storage"]) > 0
    assert system.runtime == "process://1"
    assert system.kernel == os.uname().release


def test_pods_have_loopback_addresses_that_depend_on_the_folder(tmp_path: Path) -> None:
    one, other = loopback_addresses(tmp_path, "127.0.0.1"), loopback_addresses(tmp_path / "x", "")

    taken = {one.take(str(number)) for number in range(200)}

    assert len(taken) == 200
    assert all(ipaddress.ip_address(address).is_loopback for address in taken)
    assert "127.0.0.1" not in taken
    assert one.pod_cidr == loopback_addresses(tmp_path, "").pod_cidr
    assert one.pod_cidr != other.pod_cidr


def test_a_node_says_where_its_kubelet_is() -> None:
    node = NodeDescription(
        "n", "10.64.0.0/24", "172.20.0.1", "v1", KubeletEndpoint("127.0.0.1", 10250)
    )

    status = node_object(node, 0)["status"]
    quiet = node_status(NodeDescription("n", "c", "172.20.0.1", "v1"), None, 0)

    assert status["daemonEndpoints"] == {"kubeletEndpoint": {"Port": 10250}}
    assert {"type": "InternalIP", "address": "127.0.0.1"} in status["addresses"]
    assert "daemonEndpoints" not in quiet
    assert {"type": "InternalIP", "address": "172.20.0.1"} in quiet["addresses"]
    again = node_status(node, KubeObject.from_dict({"status": status}), 60)
    times = {c["lastTransitionTime"] for c in again["conditions"]}
    assert times == {"1970-01-01T00:00:00Z"}


def stored(**status: object) -> KubeObject:
    return KubeObject.from_dict({"metadata": {"name": "n"}, "status": status})


def test_an_extended_resource_in_the_capacity_is_for_pods_to_have() -> None:
    node = NodeDescription("n", "c", "172.20.0.1", "v1", capacity={"cpu": "16"})
    known = stored(capacity={"cpu": "16", "example.com/gpu": "4"}, allocatable={"cpu": "16"})

    assert not is_allocatable(node, known)
    status = node_status(node, known, 0)

    assert status["capacity"] == {"cpu": "16"}
    assert status["allocatable"] == {"cpu": "16", "example.com/gpu": "4"}
    assert is_allocatable(node, stored(**{**status, "capacity": known["status"]["capacity"]}))


@pytest.mark.parametrize("capacity", [{"cpu": "16"}, {"cpu": "16", "example.com/gpu": "2"}])
def test_what_left_the_capacity_or_changed_there_does_so_for_pods(capacity: dict[str, str]) -> None:
    node = NodeDescription("n", "c", "172.20.0.1", "v1", capacity={"cpu": "16"})
    known = stored(capacity=capacity, allocatable={"cpu": "16", "example.com/gpu": "4"})

    assert not is_allocatable(node, known)
    patch = status_patch(node_status(node, known, 0), known)

    assert patch["status"]["allocatable"] == {"example.com/gpu": None, **capacity}


def test_a_node_whose_room_others_have_written_is_left_to_the_next_status() -> None:
    node = NodeDescription("n", "c", "172.20.0.1", "v1", capacity={"cpu": "16"})

    assert is_allocatable(node, stored(capacity={"cpu": "8"}, allocatable={"cpu": "8"}))
