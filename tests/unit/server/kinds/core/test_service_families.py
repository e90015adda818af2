"""Which address families a service may have on a server of IPv4 only."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.server.kinds.creating import created, errors

PORTS = [{"port": 80}]


@pytest.mark.parametrize(
    ("spec", "problems"),
    [
        (
            {"ipFamilies": ["IPv6"]},
            ['spec.ipFamilies[0]: Invalid value: "IPv6": not configured on this cluster'],
        ),
        (
            {"ipFamilyPolicy": "RequireDualStack"},
            [
                'spec.ipFamilyPolicy: Invalid value: "RequireDualStack": this cluster is not '
                "configured for dual-stack services"
            ],
        ),
        (
            {"ipFamilies": ["IPv4", "IPv6"]},
            [
                'spec.ipFamilyPolicy: Invalid value: "RequireDualStack": this cluster is not '
                "configured for dual-stack services",
                'spec.ipFamilies[1]: Invalid value: "IPv6": not configured on this cluster',
            ],
        ),
        (
            {"clusterIP": "2001:db8::1"},
            [
                'spec.clusterIPs[0]: Invalid value: ["2001:db8::1"]: IPv6 is not configured on '
                "this cluster"
            ],
        ),
        (
            {"clusterIP": "2001:db8::1", "ipFamilies": ["IPv4"]},
            [
                'spec.clusterIPs[0]: Invalid value: "2001:db8::1": expected an IPv4 value as '
                "indicated by `ipFamilies[0]`"
            ],
        ),
        (
            {"clusterIPs": ["10.0.0.9"]},
            [
                'spec.clusterIPs: Invalid value: ["10.0.0.9"]: must be empty when `clusterIP` is '
                "not specified"
            ],
        ),
        (
            {"clusterIP": "10.0.0.9", "clusterIPs": ["10.0.0.9", "10.0.0.8"]},
            [
                'spec.clusterIPs: Invalid value: ["10.0.0.9","10.0.0.8"]: may specify no more '
                "than one IP for each IP family"
            ],
        ),
        (
            {"clusterIP": "None", "clusterIPs": ["None", "10.0.0.8"]},
            [
                'spec.clusterIPs: Invalid value: ["None","10.0.0.8"]: \'None\' must be the first '
                "and only value"
            ],
        ),
        ({"ipFamilyPolicy": "PreferDualStack"}, []),
        ({"clusterIP": "None"}, []),
    ],
)
def test_families_that_are_not_served(spec: dict[str, Any], problems: list[str]) -> None:
    assert errors("v1", "Service", spec={"ports": PORTS, **spec}) == problems


def test_nothing_else_is_said_about_a_service_whose_addresses_are_wrong() -> None:
    spec = {"ports": [{"port": 0}], "ipFamilies": ["IPv6"], "sessionAffinity": "x"}

    assert len(errors("v1", "Service", spec=spec)) == 1


@pytest.mark.parametrize(
    ("spec", "families", "policy"),
    [
        ({}, ["IPv4"], "SingleStack"),
        ({"ipFamilyPolicy": "PreferDualStack"}, ["IPv4"], "PreferDualStack"),
        ({"clusterIP": "None"}, ["IPv4", "IPv6"], "RequireDualStack"),
        ({"clusterIP": "None", "ipFamilies": ["IPv6"]}, ["IPv6", "IPv4"], "RequireDualStack"),
        ({"clusterIP": "None", "ipFamilyPolicy": "SingleStack"}, ["IPv4"], "SingleStack"),
        ({"clusterIP": "None", "selector": {"a": "b"}}, ["IPv4"], "SingleStack"),
        (
            {"clusterIP": "None", "selector": {"a": "b"}, "ipFamilyPolicy": "PreferDualStack"},
            ["IPv4"],
            "PreferDualStack",
        ),
    ],
)
def test_families_follow_from_the_rest(
    spec: dict[str, Any], families: list[str], policy: str
) -> None:
    made = created("v1", "Service", spec={"ports": PORTS, **spec})

    assert (made["spec"]["ipFamilies"], made["spec"]["ipFamilyPolicy"]) == (families, policy)
