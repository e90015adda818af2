"""The quality of service class of a pod: how far its containers reserve what they may use."""

from __future__ import annotations

from functools import lru_cache

from proreus.api.json_types import Json
from proreus.api.values import quantity

_COUNTED = ("cpu", "memory")


def qos_class(spec: Json) -> str:
    parts = [
        container.get("resources") or {}
        for key in ("containers", "initContainers")
        for container in spec.get(key) or ()
    ]
    if spec.get("resources"):
        parts = [spec["resources"]]
    is_guaranteed, asks = True, False
    for part in parts:
        requests, limits = part.get("requests") or {}, part.get("limits") or {}
        for name in _COUNTED:
            request, limit = _positive(requests.get(name)), _positive(limits.get(name))
            asks = asks or request is not None or limit is not None
            if is_guaranteed and request != limit:
                is_guaranteed = _equal(request, limit)
            is_guaranteed = is_guaranteed and limit is not None
    if not asks:
        return "BestEffort"
    return "Guaranteed" if is_guaranteed else "Burstable"


@lru_cache(4096)
def _positive(value: str | None) -> str | None:
    """The amount as written, None if there is none of it."""
    return value if value is not None and quantity.amount(value) > 0 else None


def _equal(one: str | None, other: str | None) -> bool:
    """As amounts; two of nothing are not compared."""
    if one is None or other is None:
        return False
    return quantity.amount(one) == quantity.amount(other)
