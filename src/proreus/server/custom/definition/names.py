"""Acceptance of names: first come, first served within a group (server.md §9.2)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from proreus.server.custom.definition import conditions
from proreus.server.custom.definition.conditions import ESTABLISHED, NAMES_ACCEPTED, Definition
from proreus.server.custom.definition.conversion_rules import has_good_bundle

_Names = dict[str, Any]
_COMPARED = ("status", "reason", "message")


def names_status(obj: Definition, others: Iterable[Definition], now: float) -> dict[str, Any]:
    """The status a definition should have. ``others`` of its group may hold names it wants.

    A definition that has its names keeps the conditions it has: those that somebody took away
    are not made again.
    """
    status = {**(obj.get("status") or {})}
    wanted, before = _names(obj["spec"].get("names")), _names(status.get("acceptedNames"))
    if wanted != before:
        _decide(status, wanted, before, [obj, *others], now)
    if _is_true(status, NAMES_ACCEPTED) and not _is_true(status, ESTABLISHED):
        conditions.put(status, _established(obj, now))
    return status


def _decide(
    status: dict[str, Any], wanted: _Names, before: _Names, holders: list[Definition], now: float
) -> None:
    accepted, conflict = _accepted(wanted, before, holders)
    reason, message = conflict or ("NoConflicts", "no conflicts found")
    named = conditions.make(NAMES_ACCEPTED, conflict is None, reason, message, now)
    present = conditions.find({"status": status}, NAMES_ACCEPTED) or {}
    if accepted == before and all(present.get(key) == named[key] for key in _COMPARED):
        return
    status["acceptedNames"] = {"plural": "", "kind": "", **accepted}
    conditions.put(status, named)
    if conflict and conditions.find({"status": status}, ESTABLISHED) is None:
        refused = conditions.make(
            ESTABLISHED, False, "NotAccepted", "not all names are accepted", now
        )
        conditions.put(status, refused)


def _established(obj: Definition, now: float) -> dict[str, str]:
    if not has_good_bundle(obj["spec"].get("conversion") or {}):
        text = "The conversion webhook CABundle is invalid"
        return conditions.make(ESTABLISHED, False, "InvalidCABundle", text, now)
    return conditions.make(
        ESTABLISHED, True, "InitialNamesAccepted", "the initial names have been accepted", now
    )


def _accepted(
    wanted: _Names, before: _Names, holders: list[Definition]
) -> tuple[_Names, tuple[str, str] | None]:
    """A name is refused if it is held, by this definition itself too, unless as what it is."""
    resources, kinds = _taken(holders)
    result = {**before}
    conflict: tuple[str, str] | None = None
    for field, reason, taken in (
        ("plural", "PluralConflict", resources),
        ("singular", "SingularConflict", resources),
        ("shortNames", "ShortNamesConflict", resources),
        ("kind", "KindConflict", kinds),
        ("listKind", "ListKindConflict", kinds),
    ):
        held = _each(before.get(field))
        refused = [n for n in _each(wanted.get(field)) if n in taken and n not in held]
        if refused:
            texts = [*dict.fromkeys(f'"{name}" is already in use' for name in refused)]
            conflict = (reason, texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]")
        else:
            result[field] = wanted.get(field)
    result["categories"] = wanted.get("categories")
    return _names(result), conflict


def _names(given: Mapping[str, Any] | None) -> _Names:
    """Those that are given: none and an empty one are the same."""
    return {key: value for key, value in (given or {}).items() if value}


def _each(value: Any) -> list[str]:
    return value if isinstance(value, list) else [value] if value else []


def _is_true(status: Mapping[str, Any], kind: str) -> bool:
    return conditions.is_true({"status": status}, kind)


def _taken(holders: list[Definition]) -> tuple[set[str], set[str]]:
    resources: set[str] = set()
    kinds: set[str] = set()
    for holder in holders:
        names = (holder.get("status") or {}).get("acceptedNames") or {}
        resources |= {names.get("plural") or "", names.get("singular") or ""}
        resources |= set(names.get("shortNames") or ())
        kinds |= {names.get("kind") or "", names.get("listKind") or ""}
    return resources - {""}, kinds - {""}
