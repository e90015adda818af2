"""Nodes."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.server.kinds.creating import created, errors, status_errors, updated
from tests.unit.server.kinds.printing import cells


def test_a_node_has_no_negative_capacity() -> None:
    assert errors("v1", "Node", status={"capacity": {"cpu": "-1"}}) == [
        f'status.{field}.cpu: Invalid value: "-1": must be greater than or equal to 0'
        for field in ("capacity", "allocatable")
    ]


def test_a_node_has_what_follows_from_what_it_says() -> None:
    made = created("v1", "Node", spec={"podCIDR": "10.0.0.0/24"}, status={"capacity": {"cpu": 4}})

    assert made["spec"]["podCIDRs"] == ["10.0.0.0/24"]
    assert made["status"]["allocatable"] == {"cpu": "4"}


def test_of_two_networks_of_a_node_that_differ_the_older_field_counts() -> None:
    networks = {"podCIDR": "10.0.0.0/24", "podCIDRs": ["10.1.0.0/24", "2001:db8::/64"]}

    assert created("v1", "Node", spec=networks)["spec"]["podCIDRs"] == ["10.0.0.0/24"]
    assert [
        text.partition(": ")[0] for text in errors("v1", "Node", spec={**networks, "podCIDR": "x"})
    ] == ["spec.podCIDRs[0]"]


def test_an_update_of_a_node_must_satisfy_what_a_new_one_must() -> None:
    _, found = updated(created("v1", "Node"), {"spec": {"taints": [{"key": "a"}]}})

    assert found == ["metadata.taints[0].effect: Required value"]
    _, found = updated(created("v1", "Node"), {"spec": {"podCIDRs": ["x"]}})
    assert [text.partition(": ")[0] for text in found] == ["spec.podCIDRs[0]"]


def test_a_node_reports_no_address_twice() -> None:
    address = {"type": "InternalIP", "address": "10.0.0.1"}

    found = status_errors(created("v1", "Node"), {"addresses": [address, address]})

    printed = '{"Type":"InternalIP","Address":"10.0.0.1"}'
    assert found == [f"status.addresses[1]: Duplicate value: {printed}"]


@pytest.mark.parametrize(
    ("conditions", "cordoned", "text"),
    [
        ([], False, "Unknown"),
        ([{"type": "Ready", "status": "True"}], False, "Ready"),
        ([{"type": "Ready", "status": "Unknown"}], False, "NotReady"),
        ([{"type": "Ready", "status": "True"}], True, "Ready,SchedulingDisabled"),
    ],
)
def test_the_status_of_a_node(conditions: list[Any], cordoned: bool, text: str) -> None:
    body = {"spec": {"unschedulable": cordoned}, "status": {"conditions": conditions}}
    assert cells("", "Node", body)[1] == text


def test_roles_and_addresses_of_a_node() -> None:
    labels = {
        "node-role.kubernetes.io/control-plane": "",
        "kubernetes.io/role": "worker",
        "node-role.kubernetes.io/": "",
    }
    status = {
        "addresses": [{"type": "InternalIP", "address": "192.0.2.1"}],
        "nodeInfo": {"kubeletVersion": "v1.37.0", "kernelVersion": "6.1", "architecture": "amd64"},
    }
    found = cells("", "Node", {"status": status}, labels=labels)
    assert found[2:6] == ["control-plane,worker", "60s", "v1.37.0", "192.0.2.1"]
    assert found[6:] == ["<none>", "<unknown>", "6.1 (amd64)", "<unknown>"]
