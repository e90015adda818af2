"""The status a definition should have: its names and its conditions.

Stored schemas are validated although every write was: a store may hold what another program or an
older version wrote. That costs some microseconds per line of schema, so it is done once per change
of a definition, after it is served: ``status`` only reports the ``faults`` noted then.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from proreus.api import field_error
from proreus.api.json_types import JsonObject
from proreus.server.custom.definition import conditions, names
from proreus.server.custom.definition.approval import approval_of
from proreus.server.custom.definition.conditions import API_APPROVED, NON_STRUCTURAL, Definition
from proreus.server.custom.definition.schema_rules import schema_violations


def is_definition(obj: Mapping[str, Any]) -> bool:
    """Whether stored JSON has the shape of a definition, however wrong its content."""
    spec, status = obj.get("spec"), obj.get("status")
    if not isinstance(spec, dict) or not isinstance(status or {}, dict):
        return False
    given, versions = spec.get("names"), spec.get("versions")
    given_conditions = (status or {}).get("conditions") or []
    return (
        isinstance(spec.get("group"), str)
        and isinstance(given, dict)
        and isinstance(versions, list)
        and all(isinstance(version, dict) for version in versions)
        and all(isinstance(one, dict) for one in given_conditions)
        and isinstance(obj["metadata"].get("uid"), str)
    )


class DefinitionStatus:
    """Remembers what it found of a definition's schemas."""

    def __init__(self) -> None:
        self._structure: dict[str, tuple[_Edition, str]] = {}  # by name: of what, and its faults

    def status(self, obj: Definition, others: Iterable[Definition], now: float) -> JsonObject:
        """``others``: definitions of its group that may hold names it wants."""
        status = names.names_status(obj, others, now)
        if (approval := approval_of(obj)) is None:
            conditions.take(status, API_APPROVED)
        else:
            condition = conditions.make(
                API_APPROVED, approval.is_conformant, approval.reason, approval.message, now
            )
            conditions.put(status, condition)
        if not self.is_checked(obj):
            return status
        _, wrong = self._structure[obj["metadata"]["name"]]
        if wrong:
            conditions.put(status, conditions.make(NON_STRUCTURAL, True, "Violations", wrong, now))
        else:
            conditions.take(status, NON_STRUCTURAL)
        return status

    def is_checked(self, obj: Definition) -> bool:
        known = self._structure.get(obj["metadata"]["name"])
        return known is not None and known[0] == _edition(obj)

    def note(self, obj: Definition, wrong: str) -> bool:
        """Remember its faults; whether its status should now say something else."""
        self._structure[obj["metadata"]["name"]] = (_edition(obj), wrong)
        condition = conditions.find(obj, NON_STRUCTURAL)
        return wrong != (condition["message"] if condition is not None else "")

    def forget(self, name: str) -> None:
        self._structure.pop(name, None)


def faults(obj: Definition) -> str:
    """What is wrong with a definition's schemas, "" for nothing."""
    try:
        return _wrong(obj["spec"])
    except Exception as error:  # any JSON may be stored
        return f"failed to check validation schema: {error!r}"


_Edition = tuple[Any, Any]


def _edition(obj: Definition) -> _Edition:
    """The generation of a definition changes with its spec."""
    return obj["metadata"].get("uid"), obj["metadata"].get("generation")


def _wrong(spec: Mapping[str, Any]) -> str:
    found = []
    if spec.get("preserveUnknownFields"):
        found.append(field_error.invalid("spec.preserveUnknownFields", True, "must be false"))
    for index, version in enumerate(spec["versions"]):
        schema = (version.get("schema") or {}).get("openAPIV3Schema")
        if isinstance(schema, dict):
            found += schema_violations(schema, f"spec.versions[{index}].schema.openAPIV3Schema")
    return field_error.join(found) if found else ""
