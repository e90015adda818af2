"""TaintNodesByCondition: no pods are scheduled to a new node before it was found ready."""

from __future__ import annotations

from proreus.server.registry.admission import CREATE, Attributes

_NOT_READY = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}


def taint_new_node(attributes: Attributes) -> None:
    if not attributes.is_of(CREATE, "", "nodes") or attributes.obj is None:
        return
    spec = attributes.obj.setdefault("spec", {})
    taints = spec.get("taints") or []
    known = [(taint.get("key"), taint.get("effect")) for taint in taints]
    if (_NOT_READY["key"], _NOT_READY["effect"]) not in known:
        spec["taints"] = [*taints, dict(_NOT_READY)]
