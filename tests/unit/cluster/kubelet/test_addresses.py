"""Every node and every pod has an address of its own."""

from __future__ import annotations

from proreus.cluster.kubelet.addresses import node_addresses


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
