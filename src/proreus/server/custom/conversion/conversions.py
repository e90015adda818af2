"""Objects from one version of a custom kind to another: the type is rewritten, the rest pruned.

An object that is older than its schema is pruned and defaulted when it is read, in its stored
version, and its managedFields follow (server.md §9.3). The caller's object is not changed.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping

from proreus.api.group_version import GroupKind, GroupVersionKind
from proreus.api.json_types import JsonObject
from proreus.server.custom.conversion.owners import renew_owners
from proreus.server.custom.schema.default import default_stored
from proreus.server.custom.schema.prune import prune
from proreus.server.custom.schema.structural import Structural
from proreus.server.resource.conversion import Convert


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
            default_stored(converted, schema)
            renew_owners(converted, schemas)
        converted["apiVersion"] = to.api_version
        return converted
