"""A new object's status is empty, and empty is not always nothing: a replica set has 0 replicas.

A create drops whatever status the client sent; this puts back the empty one a server shows.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from proreus.api.group_version import GroupKind, GroupVersionKind
from proreus.server.schema.check import zero
from proreus.server.schema.definitions import Definitions
from proreus.server.schema.presence import Presence, presence
from proreus.server.schema.rules import JsonObject, Rules

_VERSIONS = ("v1", "v2", "v1beta2", "v1beta1", "v1alpha3", "v1alpha2", "v1alpha1")
_STORED = {GroupKind("autoscaling", "HorizontalPodAutoscaler"): "v2"}


def with_empty_status(kind: GroupKind, rules: Rules) -> Rules:
    """The rules, with the status filled in after their own preparation."""
    own = rules.prepare_create

    def prepare(obj: JsonObject) -> None:
        own(obj)
        if "status" not in obj and _has_status(kind):
            obj["status"] = _empty(kind)

    return replace(rules, prepare_create=prepare)


def _gvk(kind: GroupKind) -> GroupVersionKind | None:
    versions = (_STORED[kind],) if kind in _STORED else _VERSIONS
    definitions = Definitions.load()
    for version in versions:
        found = GroupVersionKind(kind.group, version, kind.kind)
        if definitions.name_of(found) is not None:
            return found
    return None


@cache
def _has_status(kind: GroupKind) -> bool:
    gvk = _gvk(kind)
    node = Definitions.load().node(gvk) if gvk is not None else None
    field = node.field_of("status") if node is not None else None
    return (
        node is not None
        and field is not None
        and presence(node, "status", field) is Presence.ALWAYS
    )


def _empty(kind: GroupKind) -> JsonObject:
    gvk = _gvk(kind)
    assert gvk is not None
    node = Definitions.load().node(gvk)
    field = node.field_of("status") if node is not None else None
    assert field is not None
    return zero(field)
