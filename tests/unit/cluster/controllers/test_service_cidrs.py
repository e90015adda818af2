"""When a range of service addresses may go."""

from __future__ import annotations

from typing import Any

import pytest

from proreus.api.object import KubeObject
from proreus.cluster.controllers.service_cidrs import is_needed

ALLOCATED = {"ipaddress.kubernetes.io/managed-by": "ipallocator.k8s.io"}


def service_range(name: str, *cidrs: str) -> KubeObject:
    return KubeObject.from_dict({"metadata": {"name": name}, "spec": {"cidrs": list(cidrs)}})


def address(name: str, labels: Any = ALLOCATED) -> KubeObject:
    return KubeObject.from_dict({"metadata": {"name": name, "labels": labels}})


GOING = service_range("going", "10.1.0.0/24")


@pytest.mark.parametrize(
    ("others", "addresses", "needed"),
    [
        ([], [], False),
        ([], [address("10.1.0.5")], True),
        ([], [address("10.2.0.5")], False),
        ([], [address("10.1.0.5", {})], False),
        ([service_range("same", "10.1.0.0/24")], [address("10.1.0.5")], False),
        ([service_range("larger", "10.0.0.0/8")], [address("10.1.0.5")], False),
        ([service_range("part", "10.1.0.0/28")], [address("10.1.0.5")], False),
        ([service_range("part", "10.1.0.0/28")], [address("10.1.0.200")], True),
        ([service_range("of the other family", "fd00::/112")], [address("10.1.0.5")], True),
    ],
)
def test_a_range_is_needed_while_an_address_would_be_in_none(
    others: list[KubeObject], addresses: list[KubeObject], needed: bool
) -> None:
    assert is_needed(GOING, [GOING, *others], addresses) is needed


def test_both_families_of_a_range_count() -> None:
    going = service_range("going", "10.1.0.0/24", "fd00::/112")
    other = service_range("other", "10.1.0.0/24")

    assert is_needed(going, [going, other], [address("fd00::5")])
    assert not is_needed(going, [going, other], [address("10.1.0.5")])
