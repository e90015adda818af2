"""Services: classes and status of load balancers, traffic policies, addresses outside."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.server.kinds.creating import created, errors, status_errors, updated

PORTS = [{"port": 80}]
CLASS = "spec.loadBalancerClass: Forbidden: may only be used when `type` is 'LoadBalancer'"
EXTERNAL = "may not be set for ExternalName services"


def service(**spec: Any) -> dict[str, Any]:
    return created("v1", "Service", spec={"ports": PORTS, **spec})


def test_only_a_load_balancer_has_a_class() -> None:
    _, found = updated(service(), {"spec": {"loadBalancerClass": "a.b/c"}})

    assert found == [CLASS]
    assert errors("v1", "Service", spec={"ports": PORTS, "loadBalancerClass": "a.b/c"}) == [CLASS]


def test_a_service_that_becomes_a_load_balancer_may_be_given_a_class() -> None:
    change = {"spec": {"type": "LoadBalancer", "loadBalancerClass": "a.b/c"}}

    _, found = updated(service(), change)

    assert found == []


@pytest.mark.parametrize("address", ["10.0.0.77", "None"])
def test_a_service_keeps_its_address_whichever_field_asks_for_another(address: str) -> None:
    old = service(clusterIP="10.0.0.5")
    kept = f'spec.clusterIPs[0]: Invalid value: ["{address}"]: may not change once set'

    _, by_one = updated(old, {"spec": {"clusterIP": address}})
    _, by_both = updated(old, {"spec": {"clusterIP": address, "clusterIPs": [address]}})
    _, by_none = updated(old, {"spec": {"clusterIP": None}})

    assert (by_one, by_both, by_none) == ([kept], [kept], [])


@pytest.mark.parametrize(
    ("kind", "policy", "problems"),
    [
        ("ClusterIP", "", [""]),
        ("NodePort", "Odd", ["Odd"]),
        ("ExternalName", "Odd", ["Odd"]),
        ("ClusterIP", "Local", []),
    ],
)
def test_the_internal_traffic_policy_of_every_type_is_checked(
    kind: str, policy: str, problems: list[str]
) -> None:
    spec = {"ports": PORTS, "type": kind, "internalTrafficPolicy": policy, "externalName": "a.b"}

    assert errors("v1", "Service", spec=spec) == [
        f'spec.internalTrafficPolicy: Unsupported value: "{value}": supported values: "Cluster", '
        '"Local"'
        for value in problems
    ]


@pytest.mark.parametrize(
    ("kind", "entry", "problems"),
    [
        ("LoadBalancer", {"hostname": "a.b", "ipMode": "Odd"},
         ["[0].ipMode: Forbidden: may not be specified when `ip` is not set"]),
        ("LoadBalancer", {"ip": "10.0.0.1"}, []),
        ("NodePort", {"ip": "10.0.0.1"},
         [": Forbidden: may only be used when `spec.type` is 'LoadBalancer'"]),
    ],
)  # fmt: skip
def test_the_status_of_a_load_balancer(
    kind: str, entry: dict[str, str], problems: list[str]
) -> None:
    found = status_errors(service(type=kind), {"loadBalancer": {"ingress": [entry]}})

    assert found == [f"status.loadBalancer.ingress{text}" for text in problems]


@pytest.mark.parametrize(
    ("change", "problems"),
    [
        ({}, []),
        ({"clusterIP": ""}, []),
        ({"clusterIP": None, "clusterIPs": None}, []),
        ({"ipFamilies": ["IPv6"]}, ["spec.ipFamilies: Forbidden: " + EXTERNAL]),
        ({"ipFamilyPolicy": "PreferDualStack"}, ["spec.ipFamilyPolicy: Forbidden: " + EXTERNAL]),
    ],
)
def test_a_service_that_becomes_external_drops_each_field_that_the_client_left(
    change: dict[str, Any], problems: list[str]
) -> None:
    was = service(clusterIP="10.0.0.7", clusterIPs=["10.0.0.7"], ipFamilies=["IPv4"])

    _, found = updated(was, {"spec": {"type": "ExternalName", "externalName": "a.b", **change}})

    assert found == problems


@pytest.mark.parametrize("address", ["ff02::1", "ff12::1", "224.0.0.9"])
def test_an_address_that_stays_on_its_link_is_none_outside(address: str) -> None:
    found = errors("v1", "Service", spec={"ports": PORTS, "externalIPs": [address]})

    assert found == [
        f'spec.externalIPs[0]: Invalid value: "{address}": may not be in the link-local multicast '
        "range (224.0.0.0/24, ff02::/10)"
    ]
