"""Objects from one version of a custom kind to another: the type is rewritten, the rest pruned.

Also how an object that is older than its schema is brought up to date when read (§9.3): pruned and
defaulted by what it is stored as, its owners told what is whole now. The caller's object stays.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping

from proreus.api.group_version import GroupKind, GroupVersionKind
from proreus.server.custom.default import default
from proreus.server.custom.owners import renew_owners
from proreus.server.custom.prune import prune
from proreus.server.custom.structural import Structural
from proreus.server.schema.rules import JsonObject

Convert = Callable[[JsonObject, GroupVersionKind], JsonObject]


class Conversions:
    """Custom kinds by name; what is not one goes to ``builtin``."""

    def __init__(self, builtin: Convert) -> None:
        self._builtin = builtin
        self._schemas: dict[GroupKind, Mapping[str, Structural]] = {}

    def put(self, kind: GroupKind, schemas: Mapping[str, Structural]) -> None:
        """``schemas``: by version."""
        self._schemas[kind] = schemas

    def remove(self, kind: GroupKind) -> None:
        self._schemas.pop(kind, None)

    def convert(self, obj: JsonObject, to: GroupVersionKind) -> JsonObject:
        schemas = self._schemas.get(GroupKind(to.group, to.kind))
        if schemas is None:
            return self._builtin(obj, to)
        schema = schemas.get(to.version)
        if schema is None:
            raise KeyError(to)
        converted = copy.deepcopy(obj)
        prune(converted, schema)
        if obj.get("apiVersion") == to.api_version:
            default(converted, schema)
            renew_owners(converted, schemas)
        converted["apiVersion"] = to.api_version
        return converted
