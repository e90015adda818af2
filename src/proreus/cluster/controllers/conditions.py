"""Conditions of a status: one per type, with the time it last changed its mind."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from proreus.api.values.timestamp import format_time

Condition = dict[str, Any]


def find(conditions: Iterable[Mapping[str, Any]] | None, type_: str) -> Any:
    for condition in conditions or ():
        if condition.get("type") == type_:
            return condition
    return None


def condition(type_: str, status: str, reason: str, message: str, now: float) -> Condition:
    return {
        "type": type_,
        "status": status,
        "reason": reason,
        "message": message,
        "lastTransitionTime": format_time(now),
    }


def with_condition(conditions: Iterable[Mapping[str, Any]], new: Condition) -> list[Condition]:
    """``new`` in place of the one of its type. Nothing is written if status and reason are as they
    were; the time of transition stays if the status does."""
    kept = [dict(one) for one in conditions]
    old = find(kept, new["type"])
    if old is not None and (old.get("status"), old.get("reason")) == (new["status"], new["reason"]):
        return kept
    if old is not None and old.get("status") == new["status"]:
        new = {**new, "lastTransitionTime": old.get("lastTransitionTime")}
    return [*(one for one in kept if one["type"] != new["type"]), new]


def without_condition(conditions: Iterable[Mapping[str, Any]], type_: str) -> list[Condition]:
    return [dict(one) for one in conditions if one.get("type") != type_]
