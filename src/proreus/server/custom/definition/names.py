"""Acceptance of names: first come, first served within a group (server.md §9.2)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from proreus.server.custom.definition import conditions
from proreus.server.custom.definition.conditions import ESTABLISHED, NAMES_ACCEPTED, Definition


def names_status(obj: Definition, others: Iterable[Definition], now: float) -> dict[str, Any]:
    """The status a definition should have. ``others`` of its group may hold names it wants."""
    status = {**(obj.get("status") or {})}
    accepted, conflict = _accepted(obj, [*others])
    status["acceptedNames"] = accepted
    if conflict:
        reason, message = conflict
        named = conditions.make(NAMES_ACCEPTED, False, reason, message, now)
    else:
        named = conditions.make(NAMES_ACCEPTED, True, "NoConflicts", "no conflicts found", now)
    conditions.put(status, named)
    if conditions.is_true(obj, ESTABLISHED):
        return status
    if conflict:
        established = conditions.make(
            ESTABLISHED, False, "NotAccepted", "not all names are accepted", now
        )
    else:
        established = conditions.make(
            ESTABLISHED, True, "InitialNamesAccepted", "the initial names have been accepted", now
        )
    conditions.put(status, established)
    return status


def _accepted(
    obj: Definition, others: list[Definition]
) -> tuple[dict[str, Any], tuple[str, str] | None]:
    resources, kinds = _taken(others)
    wanted = obj["spec"].get("names") or {}
    before = (obj.get("status") or {}).get("acceptedNames") or {}
    result: dict[str, Any] = {"plural": before.get("plural", ""), "kind": before.get("kind", "")}
    for field in ("singular", "shortNames", "listKind"):
        if before.get(field):
            result[field] = before[field]
    conflict: tuple[str, str] | None = None
    for field, reason, taken in (
        ("plural", "PluralConflict", resources),
        ("singular", "SingularConflict", resources),
        ("shortNames", "ShortNamesConflict", resources),
        ("kind", "KindConflict", kinds),
        ("listKind", "ListKindConflict", kinds),
    ):
        asked = wanted.get(field)
        names = asked if isinstance(asked, list) else [asked] if asked else []
        refused = [name for name in names if name in taken]
        if refused:
            texts = [f'"{name}" is already in use' for name in refused]
            conflict = (reason, texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]")
        elif asked:
            result[field] = asked
        elif field in result and field not in ("plural", "kind"):
            del result[field]
    if wanted.get("categories"):
        result["categories"] = wanted["categories"]
    return result, conflict


def _taken(others: list[Definition]) -> tuple[set[str], set[str]]:
    resources: set[str] = set()
    kinds: set[str] = set()
    for other in others:
        names = (other.get("status") or {}).get("acceptedNames") or {}
        resources |= {names.get("plural") or "", names.get("singular") or ""}
        resources |= set(names.get("shortNames") or ())
        kinds |= {names.get("kind") or "", names.get("listKind") or ""}
    return resources - {""}, kinds - {""}
