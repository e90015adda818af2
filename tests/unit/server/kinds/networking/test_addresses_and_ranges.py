"""Addresses, and the ranges they are taken from."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.server.kinds.creating import created, errors, updated

NETWORK = "networking.k8s.io/v1"


@pytest.mark.parametrize(
    ("name", "spec", "problems"),
    [
        ("10.0.0.1", {}, ["spec.parentRef: Required value"]),
        ("10.0.0.1", {"parentRef": {"resource": "services", "name": "a"}}, []),
        (
            "x",
            {"parentRef": {"resource": "services", "name": ""}},
            [
                'metadata.name: Invalid value: "x": must be a valid IP address, (e.g. 10.9.8.7 or '
                "2001:db8::ffff)",
                "spec.parentRef.name: Required value",
            ],
        ),
        (
            "2001:DB8::1",
            {"parentRef": {"resource": "services", "name": "a"}},
            [
                'metadata.name: Invalid value: "2001:DB8::1": must be in canonical form '
                '("2001:db8::1")'
            ],
        ),
        (
            "198.51.100.010",
            {"parentRef": {"resource": "services", "name": "a"}},
            ['metadata.name: Invalid value: "198.51.100.010": must not have leading 0s'],
        ),
        (
            "::ffff:10.0.0.1",
            {"parentRef": {"resource": "services", "name": "a"}},
            [
                'metadata.name: Invalid value: "::ffff:10.0.0.1": must not be an IPv4-mapped IPv6 '
                "address"
            ],
        ),
    ],
)
def test_addresses(name: str, spec: dict[str, Any], problems: list[str]) -> None:
    assert errors(NETWORK, "IPAddress", metadata={"name": name}, spec=spec) == problems


@pytest.mark.parametrize(
    ("ranges", "problem"),
    [
        ([], "spec.cidrs: Required value: at least one CIDR required"),
        (["x"], 'spec.cidrs[0]: Invalid value: "x": must be a valid CIDR value, (e.g. 10.9.8.0/24 '
                "or 2001:db8::/64)"),
        (["10.0.0.0/8", "11.0.0.0/8"],
         'spec.cidrs: Invalid value: ["10.0.0.0/8","11.0.0.0/8"]: may specify no more '
         "than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64"),
        (["198.51.100.7/24"],
         'spec.cidrs[0]: Invalid value: "198.51.100.7/24": must not have bits set beyond the '
         "prefix length"),
        (["10.0.0.0/08"],
         'spec.cidrs[0]: Invalid value: "10.0.0.0/08": must not have leading 0s in IP or prefix '
         "length"),
        (["2001:DB8::/64"],
         'spec.cidrs[0]: Invalid value: "2001:DB8::/64": must be in canonical form '
         '("2001:db8::/64")'),
    ],
)  # fmt: skip
def test_ranges(ranges: list[str], problem: str) -> None:
    assert errors(NETWORK, "ServiceCIDR", spec={"cidrs": ranges}) == [problem]


def test_a_range_may_only_gain_the_other_family() -> None:
    old = created(NETWORK, "ServiceCIDR", spec={"cidrs": ["10.0.0.0/8"]})

    assert updated(old, {"spec": {"cidrs": ["10.0.0.0/8", "2001:db8::/96"]}})[1] == []
    assert updated(old, {"spec": {"cidrs": ["11.0.0.0/8"]}})[1] == [
        'spec.cidrs[0]: Invalid value: "11.0.0.0/8": field is immutable'
    ]
