"""A node writes what is its own: labels that schedulers rely on are not."""

from __future__ import annotations

import pytest

from proreus.server.authz.node.restriction import forbidden_labels


@pytest.mark.parametrize(
    "label",
    [
        "plain",
        "example.com/any",
        "kubernetes.io/hostname",
        "topology.kubernetes.io/zone",
        "node.kubernetes.io/any",
        "sub.kubelet.kubernetes.io/any",
        "notkubernetes.io/any",
    ],
)
def test_a_node_may_set_its_own_labels(label: str) -> None:
    assert forbidden_labels({label: "v"}, {}) == []


@pytest.mark.parametrize(
    "label",
    [
        "node-restriction.kubernetes.io/a",
        "sub.node-restriction.kubernetes.io/a",
        "kubernetes.io/any",
        "any.k8s.io/a",
        "node-role.kubernetes.io/worker",
    ],
)
def test_a_node_may_not_set_change_or_remove_others(label: str) -> None:
    assert forbidden_labels({label: "v"}, {}) == [label]
    assert forbidden_labels({}, {label: "v"}) == [label]
    assert forbidden_labels({label: "w"}, {label: "v"}) == [label]
    assert forbidden_labels({label: "v"}, {label: "v"}) == []
