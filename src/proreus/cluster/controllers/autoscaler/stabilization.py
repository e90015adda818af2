"""Stabilization windows and scaling policies (``spec.behavior``), over the recent past of each key.

Scaling down takes the highest recommendation of its window, scaling up the lowest of its own, and
both are limited to what the policies allow per period. Memory: recommendations and
changes of the longest window, per autoscaler, until ``forget``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import ceil, floor

from proreus.api.json_types import Json

_DOWN_WINDOW_S = 300
_PERIOD_MAX_S = 1800.0
_UP: Json = {
    "policies": (
        {"type": "Pods", "value": 4, "periodSeconds": 15},
        {"type": "Percent", "value": 100, "periodSeconds": 15},
    )
}
_DOWN: Json = {"policies": ({"type": "Percent", "value": 100, "periodSeconds": 15},)}


@dataclass(frozen=True, slots=True)
class StabilizedReplicas:
    """``is_stabilized``: the window decided. ``is_limited``: a policy did."""

    replicas: int
    is_stabilized: bool = False
    is_limited: bool = False


@dataclass(slots=True)
class _History:
    recommended: list[tuple[float, int]] = field(default_factory=list)
    changes: list[tuple[float, int]] = field(default_factory=list)


class Stabilizer:
    """Recent recommendations and changes, by the autoscalers' keys."""

    def __init__(self) -> None:
        self._history: dict[str, _History] = {}

    def forget(self, key: str) -> None:
        self._history.pop(key, None)

    def changed(self, key: str, by: int, now: float) -> None:
        history = self._history.setdefault(key, _History())
        history.changes = [*_since(history.changes, now - _PERIOD_MAX_S), (now, by)]

    def limit(
        self, key: str, behavior: Json, current: int, wanted: int, now: float
    ) -> StabilizedReplicas:
        up = {**_UP, **(behavior.get("scaleUp") or {})}
        down = {**_DOWN, **(behavior.get("scaleDown") or {})}
        # Recommendations before the start are unknown: the present size, to be safe.
        history = self._history.setdefault(key, _History([(now, current)]))
        windows = _window_s(up, 0), _window_s(down, _DOWN_WINDOW_S)
        known = history.recommended
        lowest = min([wanted, *(n for _, n in _since(known, now - windows[0]))])
        highest = max([wanted, *(n for _, n in _since(known, now - windows[1]))])
        history.recommended = [*_since(known, now - max(windows)), (now, wanted)]
        steady = lowest if current < lowest else min(current, highest)
        if steady > current:
            most = _bound(up, history.changes, current, now, grows=True)
            return StabilizedReplicas(min(steady, most), steady != wanted, steady > most)
        least = _bound(down, history.changes, current, now, grows=False)
        return StabilizedReplicas(max(steady, least), steady != wanted, steady < least)


def _window_s(rules: Json, default: int) -> float:
    found = rules.get("stabilizationWindowSeconds")
    return float(default if found is None else found)


def _since(records: Sequence[tuple[float, int]], start: float) -> list[tuple[float, int]]:
    return [one for one in records if one[0] > start]


def _bound(
    rules: Json, changes: Sequence[tuple[float, int]], current: int, now: float,
    *, grows: bool,
) -> int:  # fmt: skip
    """How far the policies let the size go, counted from where their period began."""
    choice = rules.get("selectPolicy") or "Max"
    if choice == "Disabled":
        return current
    found = []
    for policy in rules.get("policies") or ():
        recent = _since(changes, now - float(policy["periodSeconds"]))
        start = current - sum(by for _, by in recent if (by > 0) is grows)
        value = int(policy["value"]) * (1 if grows else -1)
        if policy["type"] == "Pods":
            found.append(start + value)
        else:
            share = start * (100 + value) / 100
            found.append(ceil(share) if grows else floor(share))
    if not found:
        return current
    # "Max" is the largest change, which is the smallest size when shrinking.
    widest = max(found) if grows else min(found)
    tightest = min(found) if grows else max(found)
    bound = widest if choice == "Max" else tightest
    return max(bound, current) if grows else min(bound, current)
