"""Every node and every pod has an address of its own."""

from __future__ import annotations

from proreus.cluster.kubelet.addresses import node_addresses, own_addresses


def test_nodes_get_ranges_that_nobody_has() -> None:
    made = node_addresses(["a", "b", "c"], [("b", "10.64.7.0/24"), ("x", "10.64.0.0/24")])

    assert [made[name].pod_cidr for name in "abc"] == [
        "10.64.1.0/24",
        "10.64.7.0/24",
        "10.64.2.0/24",
    ]
    assert len({node.host_ip for node in made.values()}) == 3


def test_pods_keep_their_address_and_give_it_back() -> None:
    node = node_addresses(["a"], [])["a"]

    addresses = [node.take(f"pod {number}") for number in range(200)]

    assert len(set(addresses)) == 200
    assert node.take("pod 0") == addresses[0]
    node.release("pod 0")
    assert node.take("new", wanted=addresses[0]) == addresses[0]
    assert node.take("other", wanted=addresses[0]) not in addresses


def test_an_address_of_another_range_is_not_kept() -> None:
    node = node_addresses(["a"], [])["a"]

    assert node.take("was elsewhere", wanted="127.70.3.9").startswith("10.64.0.")
    assert node.take("has none", wanted="").startswith("10.64.0.")


def test_a_node_that_sees_only_itself_has_a_range_of_its_own() -> None:
    ranges = {own_addresses(f"node-{number}").pod_cidr for number in range(1, 301)}
    other = {own_addresses(name).pod_cidr for name in ("worker", "edge-1", "edge-07")}

    assert len(ranges | other) == 303
    assert own_addresses("node-1") == own_addresses("node-1")
    assert own_addresses("node-1", "10.64.9.0/24").pod_cidr == "10.64.9.0/24"
