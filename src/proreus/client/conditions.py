"""Conditions of a status: one per type, with the time of its last transition."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from proreus.api.frozen import thaw
from proreus.api.json_types import Json, JsonObject
from proreus.api.object import KubeObject
from proreus.api.values.timestamp import format_time

Condition = JsonObject


def among(conditions: Iterable[Json] | None, type_: str) -> Any:
    """The condition of a type, None if there is none."""
    return next((one for one in conditions or () if one.get("type") == type_), None)


def find(obj: KubeObject, type_: str) -> Any:
    return among((obj.get("status") or {}).get("conditions"), type_)


def is_true(obj: KubeObject, type_: str) -> bool:
    return bool((find(obj, type_) or {}).get("status") == "True")


def present(obj: KubeObject) -> list[Condition]:
    """A copy of all conditions, to change."""
    copied: list[Condition] = thaw((obj.get("status") or {}).get("conditions") or [])
    return copied


def condition(type_: str, status: str, reason: str, message: str, now: float) -> Condition:
    return {
        "type": type_,
        "status": status,
        "reason": reason,
        "message": message,
        "lastTransitionTime": format_time(now),
    }


def with_condition(conditions: Iterable[Json], new: Condition) -> list[Condition]:
    """``new`` in place of the one of its type. Nothing is written if status and reason are as they
    were; the time of transition stays if the status does."""
    kept = [dict(one) for one in conditions]
    old = among(kept, new["type"])
    if old is not None and (old.get("status"), old.get("reason")) == (new["status"], new["reason"]):
        return kept
    if old is not None and old.get("status") == new["status"]:
        new = {**new, "lastTransitionTime": old.get("lastTransitionTime")}
    return [*(one for one in kept if one["type"] != new["type"]), new]


def without_condition(conditions: Iterable[Json], type_: str) -> list[Condition]:
    return [dict(one) for one in conditions if one.get("type") != type_]


def foreign_conditions(obj: KubeObject) -> dict[str, list[Condition]]:
    """The conditions of a status whose controller has none of its own: those of others stay."""
    return {"conditions": found} if (found := present(obj)) else {}


def set_condition(
    obj: KubeObject, type_: str, status: bool | str, *, reason: str, message: str = "", now: float
) -> list[Condition]:
    """All conditions of ``obj`` with this one set, to be written as ``status.conditions``.

    It names the generation of ``obj`` that it is about, and the time at which the status last
    changed (``now``, seconds since the epoch, if it changes here). Others keep their places.
    """
    if not type_ or not reason:
        raise ValueError("a condition has a type and a reason")
    word = status if isinstance(status, str) else str(status)
    if word not in ("True", "False", "Unknown"):
        raise ValueError(f"the status of a condition is True, False or Unknown, not {word}")
    new = condition(type_, word, reason, message, now)
    if generation := obj.metadata.generation:
        new["observedGeneration"] = generation
    kept = present(obj)
    old = among(kept, type_)
    if old is None:
        return [*kept, new]
    if old.get("status") == word:
        new["lastTransitionTime"] = old.get("lastTransitionTime")
    return [new if one is old else one for one in kept]
