"""Sets the requester and the times of decisions in certificate signing requests.

Whoever signs relies on it, so nothing a client says there counts.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from proreus.aio.clock import Clock
from proreus.api.group_version import GroupResource
from proreus.api.values.timestamp import format_time
from proreus.server.registry.admission import CREATE, UPDATE, Attributes

REQUESTS = GroupResource("certificates.k8s.io", "certificatesigningrequests")
_ABOUT_THE_USER = ("username", "uid", "groups", "extra")


class SigningRequests:
    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    def admit(self, attributes: Attributes) -> None:
        if attributes.resource.group_resource != REQUESTS or attributes.obj is None:
            return
        if attributes.operation == CREATE:
            _name_user(attributes)
        elif attributes.operation == UPDATE and attributes.subresource:
            before = _conditions(attributes.old or {})
            now = format_time(self._clock.now())
            for condition in _conditions(attributes.obj):
                _date(condition, before, now)


def _name_user(attributes: Attributes) -> None:
    assert attributes.obj is not None
    spec = attributes.obj.setdefault("spec", {})
    for name in _ABOUT_THE_USER:
        spec.pop(name, None)
    spec.update(attributes.user.to_wire())


def _date(condition: dict[str, Any], before: list[dict[str, Any]], now: str) -> None:
    """Times that are missing; one that did not change keeps the time it turned so."""
    if not condition.get("lastUpdateTime"):
        condition["lastUpdateTime"] = now
    if not condition.get("lastTransitionTime"):
        same = (c.get("lastTransitionTime") for c in before if _state(c) == _state(condition))
        condition["lastTransitionTime"] = next(filter(None, same), now)


def _state(condition: Mapping[str, Any]) -> tuple[Any, Any]:
    return condition.get("type"), condition.get("status")


def _conditions(obj: Mapping[str, Any]) -> list[dict[str, Any]]:
    return (obj.get("status") or {}).get("conditions") or []
