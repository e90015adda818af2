"""Deprecated labels of nodes, and their current names."""

from __future__ import annotations

from collections.abc import Iterator

from proreus.api.json_types import Json
from proreus.api.values import names
from proreus.server.kinds.parts.findings import items

_INSTEAD = {
    "beta.kubernetes.io/arch": ("v1.14", "kubernetes.io/arch"),
    "beta.kubernetes.io/os": ("v1.14", "kubernetes.io/os"),
    "failure-domain.beta.kubernetes.io/region": ("v1.17", "topology.kubernetes.io/region"),
    "failure-domain.beta.kubernetes.io/zone": ("v1.17", "topology.kubernetes.io/zone"),
    "beta.kubernetes.io/instance-type": ("v1.17", "node.kubernetes.io/instance-type"),
}
_DEPRECATED = {
    **{key: f'deprecated since {since}; use "{new}" instead'
       for key, (since, new) in _INSTEAD.items()},
    "app.kubernetes.io/created-by": "deprecated since v1.9",
    "scheduler.alpha.kubernetes.io/preferAvoidPods": (
        "deprecated since v1.22; use Taints and Tolerations instead"
    ),
    "node-role.kubernetes.io/master": 'use "node-role.kubernetes.io/control-plane" instead',
}  # fmt: skip


def current_label(key: str) -> str:
    """The current name of a label."""
    return _INSTEAD[key][1] if key in _INSTEAD else key


def deprecated_label(key: str) -> str:
    """The warning about a deprecated label, empty for others."""
    return _DEPRECATED.get(key, "")


def node_term_warnings(term: Json, at: str, *, is_preference: bool = False) -> Iterator[str]:
    """Of a node selector's term. Impossible values of a preference are no error."""
    for where, expression in items(term.get("matchExpressions"), f"{at}.matchExpressions"):
        key = expression.get("key") or ""
        if why := deprecated_label(key):
            yield f"{where}.key: {key} is {why}"
        values = expression.get("values") if is_preference else None
        for place, value in items(values, f"{where}.values"):
            for why in names.label_value(value):
                yield f"{place}: {value} is invalid, {why}"


def node_selector_warnings(selector: Json | None, at: str) -> list[str]:
    """Of a label selector of nodes."""
    selector = selector or {}
    found = [
        f"{where}.key: {key} is {why}"
        for where, one in items(selector.get("matchExpressions"), f"{at}.matchExpressions")
        if (why := deprecated_label(key := one.get("key") or ""))
    ]
    labels = sorted(selector.get("matchLabels") or ())
    return found + [
        f"{at}.matchLabels.{key}: {why}" for key in labels if (why := deprecated_label(key))
    ]
