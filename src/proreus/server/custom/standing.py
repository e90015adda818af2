"""The status a definition should have: its names, and what else is to be said about it.

Structure is judged although every write was: a store may hold what another program or an older
version wrote. That costs some microseconds per line of schema, so it is done once per change of a
definition, after it is served: ``status`` only tells what was noted of its ``faults``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from proreus.api import field_error
from proreus.server.custom import conditions, names
from proreus.server.custom.approval import approval_of
from proreus.server.custom.conditions import API_APPROVED, NON_STRUCTURAL, Definition
from proreus.server.custom.schema_rules import schema_violations
from proreus.server.schema.rules import JsonObject


def is_definition(obj: Mapping[str, Any]) -> bool:
    """Whether stored JSON has the shape of a definition, however wrong its content."""
    spec, status = obj.get("spec"), obj.get("status")
    if not isinstance(spec, dict) or not isinstance(status or {}, dict):
        return False
    given, versions = spec.get("names"), spec.get("versions")
    told = (status or {}).get("conditions") or []
    return (
        isinstance(spec.get("group"), str)
        and isinstance(given, dict)
        and isinstance(versions, list)
        and all(isinstance(version, dict) for version in versions)
        and all(isinstance(condition, dict) for condition in told)
        and isinstance(obj["metadata"].get("uid"), str)
    )


class Standing:
    """Remembers what it found of a definition's schemas."""

    def __init__(self) -> None:
        self._structure: dict[str, tuple[_Edition, str]] = {}  # by name: of what, and its faults

    def status(self, obj: Definition, others: Iterable[Definition], now: float) -> JsonObject:
        """``others``: definitions of its group that may hold names it wants."""
        status = names.decided(obj, others, now)
        if (approval := approval_of(obj)) is None:
            conditions.take(status, API_APPROVED)
        else:
            said = conditions.make(
                API_APPROVED, approval.is_conformant, approval.reason, approval.message, now
            )
            conditions.put(status, said)
        if not self.is_judged(obj):
            return status
        _, wrong = self._structure[obj["metadata"]["name"]]
        if wrong:
            conditions.put(status, conditions.make(NON_STRUCTURAL, True, "Violations", wrong, now))
        else:
            conditions.take(status, NON_STRUCTURAL)
        return status

    def is_judged(self, obj: Definition) -> bool:
        known = self._structure.get(obj["metadata"]["name"])
        return known is not None and known[0] == _edition(obj)

    def note(self, obj: Definition, wrong: str) -> bool:
        """Remember its faults; whether its status should now say something else."""
        self._structure[obj["metadata"]["name"]] = (_edition(obj), wrong)
        said = conditions.find(obj, NON_STRUCTURAL)
        return wrong != (said["message"] if said is not None else "")

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
