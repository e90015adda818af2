"""Which empty values a server keeps, drops or adds: facts about Kubernetes' Go types.

A Go field is a value or a pointer, and is left out of the JSON when empty or not; an object that
went through a server shows it. ``[]`` and ``""`` disappear, ``hostNetwork: false`` too, but
``shareProcessNamespace: false`` stays, ``status: {}`` and ``resources: {}`` appear by themselves,
a condition's missing time becomes ``null``.

The definitions do not say which is which. The rules in ``presence`` cover most fields; the tables
name the others, by Go type and field.
"""

from __future__ import annotations

from enum import Enum

from proreus.api.typed import Shape, TypeNode
from proreus.server.schema import presence_table as table


class Presence(Enum):
    OMIT_EMPTY = "left out when empty"
    POINTER = "left out only when null"
    ALWAYS = "written even when it was not given"


def presence(owner: TypeNode, key: str, field: TypeNode) -> Presence:
    """What happens to ``key`` of a struct when it is empty or missing."""
    kind = owner.name.rpartition(".")[2]
    if (special := table.EVENT_FIELDS.get(owner.name)) is not None:
        always = key in special or key in owner.required
    else:
        always = key in table.ALWAYS.get(kind, ()) or (
            key in owner.required and key not in table.OPTIONAL_THOUGH_REQUIRED.get(kind, ())
        )
    if always or _is_object_meta(field) or _is_condition_time(kind, key, field):
        return Presence.ALWAYS
    if key in table.POINTERS.get(kind, ()) or key in table.EMPTY_LISTS.get(kind, ()):
        return Presence.POINTER
    match field.shape:
        case Shape.INTEGER | Shape.NUMBER | Shape.BOOLEAN:
            plain = key in table.PLAIN.get(kind, ()) or key in ("readOnly", "observedGeneration")
            return Presence.OMIT_EMPTY if plain else Presence.POINTER
        case Shape.STRING | Shape.LIST | Shape.MAP | Shape.BYTES:
            return Presence.OMIT_EMPTY
        case _:
            return Presence.POINTER


def is_null_when_missing(owner: TypeNode, key: str) -> bool:
    """Whether an ALWAYS field is written as null, not as its type's empty value."""
    return key in table.NULLS.get(owner.name.rpartition(".")[2], ())


def _is_object_meta(field: TypeNode) -> bool:
    return field.name.endswith((".meta.v1.ObjectMeta", ".meta.v1.ListMeta"))


def _is_condition_time(kind: str, key: str, field: TypeNode) -> bool:
    return field.shape is Shape.TIME and kind.endswith("Condition") and key.startswith("last")
