"""Conditions in a definition's status (server.md §9.2)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from proreus.api.values.timestamp import format_time

NAMES_ACCEPTED = "NamesAccepted"
ESTABLISHED = "Established"
TERMINATING = "Terminating"
NON_STRUCTURAL = "NonStructuralSchema"
API_APPROVED = "KubernetesAPIApprovalPolicyConformant"
Definition = Mapping[str, Any]


def find(obj: Definition, kind: str) -> Mapping[str, Any] | None:
    found = (obj.get("status") or {}).get("conditions") or ()
    return next((one for one in found if one.get("type") == kind), None)


def is_true(obj: Definition, kind: str) -> bool:
    found = find(obj, kind)
    return found is not None and found.get("status") == "True"


def make(kind: str, status: bool, reason: str, message: str, now: float) -> dict[str, str]:
    return {
        "type": kind,
        "status": "True" if status else "False",
        "lastTransitionTime": format_time(now),
        "reason": reason,
        "message": message,
    }


def put(status: dict[str, Any], condition: dict[str, str]) -> None:
    """Set one condition; its time stays if its status is the same."""
    present = [*(status.get("conditions") or ())]
    for index, one in enumerate(present):
        if one.get("type") == condition["type"]:
            if one.get("status") == condition["status"]:
                condition = {**condition, "lastTransitionTime": one["lastTransitionTime"]}
            present[index] = condition
            break
    else:
        present.append(condition)
    status["conditions"] = present


def take(status: dict[str, Any], kind: str) -> None:
    """Remove a condition, if it is there."""
    present = status.get("conditions") or ()
    if any(one.get("type") == kind for one in present):
        status["conditions"] = [one for one in present if one.get("type") != kind]
