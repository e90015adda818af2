"""The schemas a document needs: those its paths name, and all that these refer to."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol

from proreus.api.group_version import GroupVersionKind

REF = "#/components/schemas/"


class SchemaSource(Protocol):
    """Where definitions come from: the built-in ones, later those of custom resources too."""

    def name_of(self, gvk: GroupVersionKind) -> str | None: ...

    def raw(self, name: str) -> dict[str, Any]: ...


def closure(names: Iterable[str], source: SchemaSource) -> dict[str, Any]:
    """Every schema reachable from these, in order of name."""
    found: dict[str, Any] = {}
    waiting = list(names)
    while waiting:
        name = waiting.pop()
        if name in found:
            continue
        schema = source.raw(name)
        found[name] = schema
        waiting += references(schema)
    return dict(sorted(found.items()))


def references(schema: Any) -> list[str]:
    """The names of definitions a schema refers to."""
    found: list[str] = []
    waiting = [schema]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            reference = value.get("$ref")
            if isinstance(reference, str):
                found.append(reference.removeprefix(REF))
            waiting += value.values()
        elif isinstance(value, list):
            waiting += value
    return found
