"""Which node ports a service gets, and what is said when it cannot have them."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.server.registry.server_under_test import MERGE, Answered, Asking

TAKEN = "provided port is already allocated"
OUT = "provided port is not in the valid range. The range of valid ports is 30000-32767"


def port(name: str, number: int = 80, *, protocol: str = "TCP", node: int = 0) -> dict[str, Any]:
    found = {"name": name, "port": number, "protocol": protocol}
    return {**found, "nodePort": node} if node else found


async def make(ask: Asking, *ports: dict[str, Any], name: str = "a", **spec: Any) -> Answered:
    body = {"metadata": {"name": name}, "spec": {"type": "NodePort", "ports": [*ports], **spec}}
    return await ask("POST", "services", body)


async def change(ask: Asking, **spec: Any) -> Answered:
    return await ask("PATCH", "services/a", {"spec": spec}, kind=MERGE)


def node_ports(answer: Answered) -> list[int]:
    return [one.get("nodePort", 0) for one in answer.body["spec"]["ports"]]


def refusal(answer: Answered) -> str:
    [cause] = answer.body["details"]["causes"]
    return f"{cause['field']}: {cause['message']}"


async def test_ports_of_one_number_share_a_node_port(ask: Asking) -> None:
    made = await make(ask, port("a"), port("b", protocol="UDP"), port("c", 81))

    tcp, udp, other = node_ports(made)
    assert tcp == udp != other


async def test_ports_of_one_number_share_the_node_port_that_any_of_them_asks_for(
    ask: Asking,
) -> None:
    made = await make(ask, port("a"), port("b", protocol="UDP", node=30001))

    assert node_ports(made) == [30001, 30001]


async def test_ports_of_one_number_may_ask_for_two_node_ports(ask: Asking) -> None:
    made = await make(ask, port("a", node=30001), port("b", protocol="UDP", node=30002))

    assert node_ports(made) == [30001, 30002]


@pytest.mark.parametrize("protocol", ["TCP", "UDP"])
async def test_ports_of_two_numbers_do_not_share(ask: Asking, protocol: str) -> None:
    made = await make(ask, port("a", node=30001), port("b", 81, protocol=protocol, node=30001))

    assert refusal(made) == f"spec.ports[1].nodePort: Invalid value: 30001: {TAKEN}"


async def test_only_the_first_port_that_cannot_be_had_is_refused(ask: Asking) -> None:
    made = await make(ask, port("a", node=1), port("b", 81, node=2))

    assert refusal(made) == f"spec.ports[0].nodePort: Invalid value: 1: {OUT}"


async def test_a_port_given_twice_is_refused_with_its_node_port(ask: Asking) -> None:
    made = await make(ask, port("a", node=30001), port("b", node=30001))

    fields = [cause["field"] for cause in made.body["details"]["causes"]]
    assert fields == ["spec.ports[1].nodePort", "spec.ports[1]"]


async def test_a_port_keeps_its_node_port_by_its_name(ask: Asking) -> None:
    made = await make(ask, port("a"), port("b", 81))

    changed = await change(ask, ports=[port("b", 82), port("c", 80)])

    assert node_ports(changed)[0] == node_ports(made)[1]
    assert node_ports(changed)[1] not in node_ports(made)


async def test_a_change_cannot_give_a_node_port_to_two(ask: Asking) -> None:
    await make(ask, port("a", node=30001))

    changed = await change(ask, ports=[port("a", node=30002), port("b", 81, node=30002)])

    assert (changed.status, changed.body["message"]) == (500, "duplicate nodePort: {TCP 30002}")
    assert (await make(ask, port("a", node=30002), name="b")).status == 201


async def test_node_ports_stay_when_a_balancer_needs_them_no_more(ask: Asking) -> None:
    made = await make(ask, port("a"), type="LoadBalancer")

    changed = await change(ask, allocateLoadBalancerNodePorts=False)
    added = await change(ask, ports=[port("a"), port("b", 81)])

    assert node_ports(changed) == node_ports(made)
    assert node_ports(added) == [*node_ports(made), 0]


async def test_node_ports_go_with_the_type_unless_one_is_new(ask: Asking) -> None:
    await make(ask, port("a", node=30001), port("b", 81))

    kept = await change(ask, type="ClusterIP", ports=[port("a", node=30001), port("c", 82, node=7)])
    gone = await change(ask, type="ClusterIP", ports=[port("a", node=30001)])

    assert [cause["field"] for cause in kept.body["details"]["causes"]] == [
        "spec.ports[0].nodePort",
        "spec.ports[1].nodePort",
    ]
    assert node_ports(gone) == [0]


@pytest.mark.parametrize(("asked", "why"), [(30001, TAKEN), (70000, OUT), (-1, OUT)])
async def test_a_health_port_that_cannot_be_had(ask: Asking, asked: int, why: str) -> None:
    await make(ask, port("a", node=30001), name="other")

    balancer = {"type": "LoadBalancer", "externalTrafficPolicy": "Local"}
    made = await make(ask, port("a"), **balancer, healthCheckNodePort=asked)
    await make(ask, port("a"))
    changed = await change(ask, **balancer, healthCheckNodePort=asked)

    text = f"failed to allocate requested HealthCheck NodePort {asked}: {why}"
    for answer in (made, changed):
        assert (answer.status, answer.body["reason"]) == (500, "InternalError")
        assert answer.body["message"] == f"Internal error occurred: {text}"


async def test_a_health_port_that_is_free_is_given(ask: Asking) -> None:
    balancer = {"type": "LoadBalancer", "externalTrafficPolicy": "Local"}

    made = await make(ask, port("a"), **balancer, healthCheckNodePort=30005)
    again = await change(ask, selector={"a": "b"})

    assert made.body["spec"]["healthCheckNodePort"] == 30005
    assert again.status == 200
