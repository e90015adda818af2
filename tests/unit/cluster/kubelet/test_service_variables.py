"""The variables by which containers find services."""

from __future__ import annotations

from typing import Any

from proreus.api.object import KubeObject
from proreus.cluster.kubelet.runtimes.service_variables import service_variables


def service(name: str, *ports: dict[str, Any], address: str = "10.0.0.7") -> KubeObject:
    spec = {"clusterIP": address, "ports": list(ports)}
    return KubeObject.from_dict({"kind": "Service", "metadata": {"name": name}, "spec": spec})


def test_a_service_is_found_by_its_name() -> None:
    assert service_variables([service("foo-service", {"port": 8765, "protocol": "TCP"})]) == {
        "FOO_SERVICE_SERVICE_HOST": "10.0.0.7",
        "FOO_SERVICE_SERVICE_PORT": "8765",
        "FOO_SERVICE_PORT": "tcp://10.0.0.7:8765",
        "FOO_SERVICE_PORT_8765_TCP": "tcp://10.0.0.7:8765",
        "FOO_SERVICE_PORT_8765_TCP_PROTO": "tcp",
        "FOO_SERVICE_PORT_8765_TCP_PORT": "8765",
        "FOO_SERVICE_PORT_8765_TCP_ADDR": "10.0.0.7",
    }


def test_the_first_of_several_ports_stands_for_the_service() -> None:
    named, other = {"name": "web-ui", "port": 80}, {"name": "dns", "port": 53, "protocol": "UDP"}

    found = service_variables([service("s", named, other)])

    assert found["S_SERVICE_PORT"] == "80"
    assert (found["S_SERVICE_PORT_WEB_UI"], found["S_SERVICE_PORT_DNS"]) == ("80", "53")
    assert found["S_PORT"] == "tcp://10.0.0.7:80"
    assert found["S_PORT_53_UDP"] == "udp://10.0.0.7:53"


def test_an_address_of_version_six_is_in_brackets_before_its_port() -> None:
    found = service_variables([service("s", {"port": 80}, address="fd00::1")])

    assert (found["S_PORT"], found["S_PORT_80_TCP_ADDR"]) == ("tcp://[fd00::1]:80", "fd00::1")


def test_services_without_an_address_or_a_port_have_no_variables() -> None:
    headless = service("a", {"port": 80}, address="None")

    assert service_variables([headless, service("b"), service("c", address="")]) == {}
