"""Which addresses are given out, and in which order."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv4Network
from itertools import islice
from typing import Any

import pytest

from proreus.server.allocation.service_ranges import (
    SERVICE_NETWORK,
    ServiceRanges,
    ready_networks,
    static_part,
)


def service_range(*cidrs: str, ready: str = "True", **metadata: Any) -> dict[str, Any]:
    conditions = [{"type": "Ready", "status": ready}] if ready else []
    return {"metadata": metadata, "spec": {"cidrs": cidrs}, "status": {"conditions": conditions}}


def test_ranges_that_are_ready_and_stay_give_out_addresses() -> None:
    assert ready_networks(service_range("10.1.0.0/24")) == (IPv4Network("10.1.0.0/24"),)
    assert ready_networks(service_range("10.1.0.0/24", "fd00::/112")) == (
        IPv4Network("10.1.0.0/24"),
    )
    assert ready_networks(service_range("10.1.0.0/24", ready="False")) == ()
    assert ready_networks(service_range("10.1.0.0/24", ready="")) == ()
    assert ready_networks(service_range("10.1.0.0/24", deletionTimestamp="2026-01-01")) == ()


def test_every_address_is_a_candidate_once_those_of_the_static_part_last() -> None:
    found = list(ServiceRanges(lambda: None).candidates())

    usable = SERVICE_NETWORK.num_addresses - 2
    assert len(found) == len(set(found)) == usable
    last = {IPv4Address(one) for one in found[-static_part(SERVICE_NETWORK) :]}
    assert last == set(islice(SERVICE_NETWORK.hosts(), 256))


def test_a_network_and_its_broadcast_address_are_not_given_out() -> None:
    ranges = ServiceRanges(lambda: None)

    assert ranges.contains(IPv4Address("10.0.0.1"))
    assert ranges.contains(IPv4Address("10.0.255.254"))
    assert not ranges.contains(IPv4Address("10.0.0.0"))
    assert not ranges.contains(IPv4Address("10.0.255.255"))
    assert not ranges.contains(IPv4Address("10.1.0.1"))


@pytest.mark.parametrize(
    ("network", "size"), [("10.0.0.0/28", 0), ("10.0.0.0/27", 16), ("10.0.0.0/20", 256),
                          ("10.0.0.0/22", 64), ("10.0.0.0/8", 256)],
)  # fmt: skip
def test_the_static_part_is_a_sixteenth_within_bounds(network: str, size: int) -> None:
    assert static_part(IPv4Network(network)) == size
