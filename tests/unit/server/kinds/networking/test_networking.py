"""Services, endpoints, ingresses and network policies."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.server.kinds.creating import (
    created,
    errors,
    resource_of,
    rules_of,
    status_errors,
    updated,
)
from tests.unit.server.validated import at_once

PORTS = [{"port": 80}]
BACKEND = {"service": {"name": "s", "port": {"number": 80}}}


def service(**spec: Any) -> dict[str, Any]:
    return created("v1", "Service", spec={"ports": PORTS, **spec})


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({}, {"type": "ClusterIP", "ipFamilies": ["IPv4"], "ipFamilyPolicy": "SingleStack",
              "internalTrafficPolicy": "Cluster", "sessionAffinity": "None"}),
        ({"clusterIP": "None"},
         {"ipFamilies": ["IPv4", "IPv6"], "ipFamilyPolicy": "RequireDualStack"}),
        ({"clusterIP": "None", "selector": {"a": "b"}},
         {"ipFamilies": ["IPv4"], "ipFamilyPolicy": "SingleStack"}),
        ({"type": "LoadBalancer"},
         {"allocateLoadBalancerNodePorts": True, "externalTrafficPolicy": "Cluster"}),
        ({"type": "ExternalName", "externalName": "x.org"},
         {"internalTrafficPolicy": None, "ipFamilies": None}),
        ({"sessionAffinity": "ClientIP"},
         {"sessionAffinityConfig": {"clientIP": {"timeoutSeconds": 10800}}}),
    ],
)  # fmt: skip
def test_the_defaults_of_a_service(spec: dict[str, Any], expected: dict[str, Any]) -> None:
    found = service(**spec)["spec"]

    assert {key: found.get(key) for key in expected} == expected
    assert found["ports"] == [{"port": 80, "protocol": "TCP", "targetPort": 80}]


@pytest.mark.parametrize(
    ("spec", "problems"),
    [
        ({"ports": []}, ["spec.ports: Required value"]),
        ({"ports": [{"port": 0}]},
         ["spec.ports[0].port: Invalid value: 0: must be between 1 and 65535, inclusive",
          "spec.ports[0].targetPort: Invalid value: 0: must be between 1 and 65535, inclusive"]),
        ({"ports": [{"port": 1}, {"port": 2}]},
         ["spec.ports[0].name: Required value", "spec.ports[1].name: Required value"]),
        ({"type": "Odd"},
         ['spec.type: Unsupported value: "Odd": supported values: "ClusterIP", "ExternalName", '
          '"LoadBalancer", "NodePort"']),
        ({"type": "NodePort", "clusterIP": "None"},
         ["spec.clusterIPs[0]: Invalid value: \"None\": may not be set to 'None' for NodePort "
          "services"]),
        ({"type": "ExternalName"}, ["spec.externalName: Required value"]),
        ({"ports": [{"port": 80, "nodePort": 30000}]},
         ["spec.ports[0].nodePort: Forbidden: may not be used when `type` is 'ClusterIP'"]),
    ],
)  # fmt: skip
def test_a_service_is_validated(spec: dict[str, Any], problems: list[str]) -> None:
    assert errors("v1", "Service", spec={"ports": PORTS, **spec}) == problems


def _with_address(obj: dict[str, Any]) -> dict[str, Any]:
    obj["spec"] |= {"clusterIP": "10.96.0.7", "clusterIPs": ["10.96.0.7"]}
    return obj


def test_an_update_keeps_what_the_server_chose() -> None:
    old = _with_address(service(type="NodePort"))
    old["spec"]["ports"][0]["nodePort"] = 31000

    new, problems = updated(
        old, {"spec": {"clusterIP": None, "clusterIPs": None, "ports": [{"port": 80}]}}
    )

    assert problems == []
    assert new["spec"]["clusterIP"] == "10.96.0.7"
    assert new["spec"]["ports"][0]["nodePort"] == 31000


def test_a_change_of_type_drops_what_belonged_to_the_old_one() -> None:
    old = _with_address(service(type="NodePort"))
    old["spec"]["ports"][0]["nodePort"] = 31000

    inner, problems = updated(old, {"spec": {"type": "ClusterIP"}})
    outer, more = updated(old, {"spec": {"type": "ExternalName", "externalName": "x.org"}})

    assert problems == []
    assert "nodePort" not in inner["spec"]["ports"][0]
    assert "externalTrafficPolicy" not in inner["spec"]
    assert more == []
    assert not {"clusterIP", "clusterIPs", "ipFamilies"} & set(outer["spec"])


def test_an_address_may_not_change() -> None:
    old = _with_address(service())

    _, problems = updated(old, {"spec": {"clusterIP": "10.96.0.8", "clusterIPs": ["10.96.0.8"]}})

    assert problems == ['spec.clusterIPs[0]: Invalid value: ["10.96.0.8"]: may not change once set']


@pytest.mark.parametrize("before", ["10.96.0.7", "None"])
def test_an_address_given_alone_stands_for_the_list_that_was_sent_unchanged(before: str) -> None:
    old = service()
    old["spec"] |= {"clusterIP": before, "clusterIPs": [before]}

    _, changed = updated(old, {"spec": {"clusterIP": "10.96.0.8"}})
    _, unlisted = updated(old, {"spec": {"clusterIP": "10.96.0.8", "clusterIPs": None}})
    kept, cleared = updated(old, {"spec": {"clusterIP": None}})

    assert changed == ['spec.clusterIPs[0]: Invalid value: ["10.96.0.8"]: may not change once set']
    assert unlisted == ["spec.clusterIPs: Required value"]
    assert cleared == []
    assert (kept["spec"]["clusterIP"], kept["spec"]["clusterIPs"]) == (before, [before])


def test_the_status_of_a_balancer_is_validated_and_completed() -> None:
    old = service(type="LoadBalancer")

    assert status_errors(old, {"loadBalancer": {"ingress": [{"ip": "x"}]}}) == [
        'status.loadBalancer.ingress[0].ip: Invalid value: "x": must be a valid IP address, '
        "(e.g. 10.9.8.7 or 2001:db8::ffff)"
    ]
    assert status_errors(old, {"loadBalancer": {"ingress": [{"ip": "1.2.3.4"}]}}) == []


def test_endpoints_and_slices_are_completed() -> None:
    endpoints = created(
        "v1", "Endpoints", subsets=[{"addresses": [{"ip": "10.0.0.1"}], "ports": PORTS}]
    )
    slices = created(
        "discovery.k8s.io/v1", "EndpointSlice", addressType="IPv4", ports=[{"port": 80}]
    )

    assert endpoints["subsets"][0]["ports"] == [{"port": 80, "protocol": "TCP"}]
    assert slices["ports"] == [{"name": "", "port": 80, "protocol": "TCP"}]


@pytest.mark.parametrize(
    ("endpoint", "problems"),
    [
        ({"addresses": []}, ["endpoints[0].addresses: Required value"]),
        ({"addresses": ["2001:db8::1"]},
         ['endpoints[0].addresses[0]: Invalid value: "2001:db8::1": must be a valid IPv4 '
          "address"]),
        ({"addresses": ["127.0.0.1"]},
         ['endpoints[0].addresses[0]: Invalid value: "127.0.0.1": may not be in the loopback range '
          "(127.0.0.0/8, ::1/128)"]),
        ({"addresses": ["127.0.0.1"], "targetRef": {"kind": "Node", "name": "n"}},
         ['endpoints[0].addresses[0]: Invalid value: "127.0.0.1": may not be in the loopback range '
          "(127.0.0.0/8, ::1/128)"]),
        ({"addresses": ["127.0.0.1"], "targetRef": {"kind": "Pod", "name": "p"}},
         ['endpoints[0].addresses[0]: Invalid value: "127.0.0.1": may not be in the loopback range '
          "(127.0.0.0/8, ::1/128)"]),
        ({"addresses": ["127.70.0.1"], "targetRef": {"kind": "Pod", "name": "p"}}, []),
        ({"addresses": ["169.254.0.1"], "targetRef": {"kind": "Pod", "name": "p"}},
         ['endpoints[0].addresses[0]: Invalid value: "169.254.0.1": may not be in the link-local '
          "range (169.254.0.0/16, fe80::/10)"]),
    ],
)  # fmt: skip
def test_an_endpoint_is_validated(endpoint: dict[str, Any], problems: list[str]) -> None:
    found = errors("discovery.k8s.io/v1", "EndpointSlice", addressType="IPv4", endpoints=[endpoint])

    assert found == problems


@pytest.mark.parametrize(
    ("spec", "problems"),
    [
        ({}, ["spec: Invalid value: null: either `defaultBackend` or `rules` must be specified"]),
        ({"rules": []},
         ["spec: Invalid value: []: either `defaultBackend` or `rules` must be specified"]),
        ({"rules": [{"http": {"paths": [
            {"path": "/x/..", "pathType": "Exact", "backend": BACKEND}]}}]},
         ['spec.rules[0].http.paths[0].path: Invalid value: "/x/..": cannot end with \'/..\'']),
        ({"defaultBackend": {}},
         ['spec.defaultBackend: Invalid value: "": resource or service backend is required']),
    ],
)  # fmt: skip
def test_an_ingress_is_validated(spec: dict[str, Any], problems: list[str]) -> None:
    assert errors("networking.k8s.io/v1", "Ingress", spec=spec) == problems


def test_an_empty_list_of_rules_is_dropped_if_there_is_a_backend() -> None:
    made = created("networking.k8s.io/v1", "Ingress", spec={"rules": [], "defaultBackend": BACKEND})

    assert made["spec"] == {"defaultBackend": BACKEND}
    assert made["status"] == {"loadBalancer": {}}


@pytest.mark.parametrize(
    ("spec", "types"),
    [
        ({}, ["Ingress"]),
        ({"egress": [{}]}, ["Ingress", "Egress"]),
        ({"policyTypes": ["Egress"]}, ["Egress"]),
    ],
)
def test_policy_types_follow_the_rules(spec: dict[str, Any], types: list[str]) -> None:
    made = created("networking.k8s.io/v1", "NetworkPolicy", spec=spec)

    assert made["spec"]["policyTypes"] == types
    assert made["spec"]["podSelector"] == {}


def test_a_service_with_addresses_of_its_own_is_reached_from_outside() -> None:
    assert service(externalIPs=["1.1.1.1"])["spec"]["externalTrafficPolicy"] == "Cluster"


@pytest.mark.parametrize(
    ("spec", "warnings"),
    [
        ({"clusterIP": "None", "sessionAffinity": "ClientIP", "loadBalancerIP": "1.1.1.1"},
         ["spec.loadBalancerIP is ignored for headless services",
          "spec.SessionAffinity is ignored for headless services"]),
        ({"externalName": "a.b"},
         ['spec.externalName is ignored when spec.type is not "ExternalName"']),
        ({"type": "ExternalName", "externalName": "a.b", "externalIPs": ["1.1.1.1"]},
         ['spec.externalIPs is ignored when spec.type is "ExternalName"']),
        ({"trafficDistribution": "PreferClose"},
         ['spec.trafficDistribution: "PreferClose" is deprecated; use "PreferSameZone"']),
    ],
)  # fmt: skip
def test_odd_services_are_warned_about(spec: dict[str, Any], warnings: list[str]) -> None:
    made = service(**spec)

    assert rules_of(made).warnings(made) == warnings


def test_a_service_keeps_its_first_address() -> None:
    old = service(clusterIP="10.0.0.1")

    change = {"clusterIP": "10.0.0.2", "clusterIPs": ["10.0.0.2"]}

    assert updated(old, {"spec": change})[1] == [
        'spec.clusterIPs[0]: Invalid value: ["10.0.0.2"]: may not change once set'
    ]


def test_ranges_of_sources_may_be_annotated_on_load_balancers_only() -> None:
    key = "service.beta.kubernetes.io/load-balancer-source-ranges"
    metadata = {"annotations": {key: "10.0.0.0/8, x"}}

    found = errors("v1", "Service", metadata=metadata, spec={"ports": [{"port": 80}]})

    at = f"metadata.annotations[{key}]"
    assert found == [
        f"{at}: Forbidden: may only be used when `type` is 'LoadBalancer'",
        f'{at}: Invalid value: "x": must be a valid CIDR value, (e.g. 10.9.8.0/24 or '
        "2001:db8::/64)",
    ]


@pytest.mark.parametrize(
    ("kind", "address", "problems"),
    [
        ("IPv4", "fd00::1", ['"fd00::1": must be a valid IPv4 address']),
        ("IPv4", "x",
         ['"x": must be a valid IPv4 address', '"x": must be a valid IP address']),
        ("FQDN", "a.b.", []),
        ("FQDN", "a", ['"a": should be a domain with at least two segments separated by dots']),
    ],
)  # fmt: skip
def test_the_addresses_of_a_slice_are_of_its_type(
    kind: str, address: str, problems: list[str]
) -> None:
    found = errors(
        "discovery.k8s.io/v1",
        "EndpointSlice",
        addressType=kind,
        endpoints=[{"addresses": [address]}],
    )

    assert found == [f"endpoints[0].addresses[0]: Invalid value: {text}" for text in problems]


def test_an_event_of_the_newer_sort_brings_nothing_of_the_older() -> None:
    event = {
        "eventTime": "2026-01-01T00:00:00.000000Z",
        "reportingComponent": "example.com/x",
        "reportingInstance": "x-1",
        "action": "Bind",
        "reason": "Bound",
        "type": "Normal",
        "involvedObject": {"namespace": "elsewhere"},
        "count": 3,
    }
    obj = {"metadata": {"name": "e", "namespace": "n"}, **event}

    found = at_once(resource_of("events.k8s.io", "Event").rules.validate(obj))

    assert [str(error) for error in found] == [
        'deprecatedCount: Invalid value: "": needs to be unset'
    ]
