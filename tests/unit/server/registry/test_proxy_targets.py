"""What a proxied request's id means."""

from __future__ import annotations

from typing import Any

import pytest

from proreus.api.status import BadRequest, ServiceUnavailable
from proreus.server.registry.subresources.proxy_targets import (
    Target,
    parse_target,
    pod_port,
    service_endpoints,
)


@pytest.mark.parametrize(
    ("text", "target"),
    [
        ("web", Target("web")),
        ("web:80", Target("web", "80")),
        ("https:web:443", Target("web", "443", "https")),
        ("http:web:", Target("web", "", "http")),
    ],
)
def test_an_id_is_taken_apart(text: str, target: Target) -> None:
    assert parse_target(text, "pod") == target


@pytest.mark.parametrize("text", ["", ":80", "web:", "ftp:web:80", "a:b:c:d"])
def test_what_names_nothing_is_refused(text: str) -> None:
    with pytest.raises(BadRequest, match="invalid pod request"):
        parse_target(text, "pod")


def test_a_pod_s_first_port_is_meant_unless_another_is_named() -> None:
    pod = {"spec": {"containers": [{}, {"ports": [{"containerPort": 7}, {"containerPort": 8}]}]}}

    assert (pod_port(pod, ""), pod_port(pod, "9"), pod_port({"spec": {}}, "")) == (7, 9, 80)


def service(*ports: dict[str, Any]) -> dict[str, Any]:
    return {"metadata": {"name": "s"}, "spec": {"ports": list(ports)}}


def slice_of(pod: str, *, name: str = "", ready: bool | None = True) -> dict[str, Any]:
    endpoint = {"conditions": {"ready": ready}, "targetRef": {"kind": "Pod", "name": pod}}
    return {"ports": [{"name": name, "port": 99}], "endpoints": [endpoint]}


def test_a_service_s_ready_pods_are_found_by_name_or_number() -> None:
    both = service({"name": "a", "port": 1}, {"name": "b", "port": 2})
    slices = [
        slice_of("x", name="a"),
        slice_of("y", name="b"),
        slice_of("z", name="b", ready=False),
    ]

    assert service_endpoints(both, slices, "a") == [Target("x", "99")]
    assert service_endpoints(both, slices, "2") == [Target("y", "99")]
    assert service_endpoints(service({"port": 1}), [slice_of("x")], "") == [Target("x", "99")]


def test_a_service_without_the_port_or_without_pods_is_unavailable() -> None:
    with pytest.raises(ServiceUnavailable, match='no service port "9" found for service "s"'):
        service_endpoints(service({"port": 1}), [], "9")
    with pytest.raises(ServiceUnavailable, match='no endpoints available for service "s"'):
        service_endpoints(service({"port": 1}), [], "")
