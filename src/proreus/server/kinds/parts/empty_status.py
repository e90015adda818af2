"""The empty status of a new object, which may have required fields: ``replicas: 0``.

A create drops whatever status the client sent; this puts back the empty one that a server returns.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from proreus.api.group_version import GroupVersionKind
from proreus.api.json_types import JsonObject
from proreus.api.typed import TypeNode
from proreus.server.resource import Rules
from proreus.server.schema.check import zero
from proreus.server.schema.definitions import Definitions
from proreus.server.schema.presence import Presence, presence


def with_empty_status(gvk: GroupVersionKind, rules: Rules) -> Rules:
    """The rules of a stored type, with the status filled in after their own preparation."""
    own = rules.prepare_create

    def prepare(obj: JsonObject) -> None:
        own(obj)
        if "status" not in obj and (field := _status(gvk)) is not None:
            obj["status"] = zero(field)

    return replace(rules, prepare_create=prepare)


@cache
def _status(gvk: GroupVersionKind) -> TypeNode | None:
    """The type of the status, if it is written even when it was not given."""
    node = Definitions.load().node(gvk)
    field = node.field_of("status") if node is not None else None
    if node is None or field is None:
        return None
    return field if presence(node, "status", field) is Presence.ALWAYS else None
