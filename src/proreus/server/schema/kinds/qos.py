"""The quality of service class of a pod: how far its containers reserve what they may use."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from proreus.api.values import quantity

_COUNTED = ("cpu", "memory")


def qos_class(spec: Mapping[str, Any]) -> str:
    parts = [
        container.get("resources") or {}
        for key in ("containers", "initContainers")
        for container in spec.get(key) or ()
    ]
    if spec.get("resources"):
        parts = [spec["resources"]]
    requests = [_counted(part.get("requests")) for part in parts]
    limits = [_counted(part.get("limits")) for part in parts]
    if not any(requests) and not any(limits):
        return "BestEffort"
    whole = all(len(limit) == len(_COUNTED) for limit in limits)
    if whole and requests == limits:
        return "Guaranteed"
    return "Burstable"


def _counted(amounts: Mapping[str, str] | None) -> dict[str, Any]:
    found = {name: quantity.amount((amounts or {}).get(name)) for name in _COUNTED}
    return {name: value for name, value in found.items() if value > 0}
