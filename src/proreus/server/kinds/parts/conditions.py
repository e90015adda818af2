"""Conditions of ``meta/v1``: the rules of every kind whose status has a list of them.

Older kinds (pods, nodes, deployments) have condition types of their own, without these rules.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from proreus.api import field_error
from proreus.api.values import names
from proreus.server.kinds.parts.findings import Findings, repeats

_STATUSES = ("False", "True", "Unknown")
_REASON_MAX, _MESSAGE_MAX = 1024, 32768
_REASON = re.compile(r"[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?")
_REASON_TEXT = names.regex_text(
    "a condition reason must start with alphabetic character, optionally followed by a string of "
    "alphanumeric characters or '_,:', and must end with an alphanumeric character or '_'",
    _REASON.pattern,
    "my_name",
    "MY_NAME",
    "MyName",
    "ReasonA,ReasonB",
    "ReasonA:ReasonB",
)


def check_conditions(
    found: Findings, at: str, conditions: Sequence[Mapping[str, Any]] | None
) -> None:
    """``at`` is the list's path. Each type may occur once."""
    types = [condition.get("type") or "" for condition in conditions or ()]
    for condition, (place, kind, is_repeated) in zip(
        conditions or (), repeats(types, at), strict=True
    ):
        if is_repeated:
            found.duplicate(f"{place}.type", kind)
        _check_condition(found, place, condition)


def _check_condition(found: Findings, at: str, condition: Mapping[str, Any]) -> None:
    found.name(f"{at}.type", condition.get("type") or "", names.qualified_name)
    found.one_of(f"{at}.status", condition.get("status") or "", _STATUSES)
    if (condition.get("observedGeneration") or 0) < 0:
        why = "must be greater than or equal to zero"
        found.invalid(f"{at}.observedGeneration", condition["observedGeneration"], why)
    found.require(f"{at}.lastTransitionTime", condition.get("lastTransitionTime"), "must be set")
    reason, message = condition.get("reason") or "", condition.get("message") or ""
    if found.require(f"{at}.reason", reason, "must be set"):
        if not _REASON.fullmatch(reason):
            found.invalid(f"{at}.reason", reason, _REASON_TEXT)
        if len(reason.encode()) > _REASON_MAX:
            found.append(field_error.too_long(f"{at}.reason", _REASON_MAX))
    if len(message.encode()) > _MESSAGE_MAX:
        found.append(field_error.too_long(f"{at}.message", _MESSAGE_MAX))


def is_true(conditions: Sequence[Mapping[str, Any]] | None, kind: str) -> bool:
    return any(c.get("type") == kind and c.get("status") == "True" for c in conditions or ())
