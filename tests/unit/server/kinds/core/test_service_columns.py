"""Services and endpoints, as tables print them."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.server.kinds.printing import cells


@pytest.mark.parametrize(
    ("spec", "external", "ports"),
    [
        ({"type": "ClusterIP"}, "<none>", "<none>"),
        ({"type": "NodePort", "externalIPs": ["1.1.1.1"]}, "1.1.1.1", "<none>"),
        ({"type": "LoadBalancer"}, "<pending>", "<none>"),
        ({"type": "ExternalName", "externalName": "a.b"}, "a.b", "<none>"),
        (
            {"type": "ClusterIP", "ports": [{"port": 80, "nodePort": 30080, "protocol": "TCP"}]},
            "<none>",
            "80:30080/TCP",
        ),
    ],
)
def test_where_a_service_can_be_reached(spec: Any, external: str, ports: str) -> None:
    found = cells("", "Service", {"spec": spec})
    assert found[3:5] == [external, ports]


def test_a_balanced_service_shows_every_address_once() -> None:
    ingress = [{"ip": "2.2.2.2"}, {"hostname": "lb"}, {"ip": "2.2.2.2"}]
    body = {
        "spec": {"type": "LoadBalancer", "externalIPs": ["9.9.9.9"]},
        "status": {"loadBalancer": {"ingress": ingress}},
    }
    assert cells("", "Service", body)[3] == "2.2.2.2,lb,9.9.9.9"


def test_endpoints_show_three_addresses() -> None:
    subset = {"addresses": [{"ip": f"10.0.0.{n}"} for n in range(5)], "ports": [{"port": 80}]}
    text = "10.0.0.0:80,10.0.0.1:80,10.0.0.2:80 + 2 more..."
    assert cells("", "Endpoints", {"subsets": [subset]})[1] == text
    assert cells("", "Endpoints", {})[1] == "<none>"
    assert cells("", "Endpoints", {"subsets": [{"notReadyAddresses": [{"ip": "1"}]}]})[1] == ""
    assert (
        cells("", "Endpoints", {"subsets": [{**subset, "addresses": [{"ip": "::1"}]}]})[1]
        == "[::1]:80"
    )
