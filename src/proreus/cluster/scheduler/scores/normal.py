"""Bring raw numbers onto the scale of scores."""

from __future__ import annotations

from collections.abc import Sequence


def highest_best(raw: Sequence[float]) -> list[float] | None:
    top = max(raw, default=0.0)
    return [value * 100 / top for value in raw] if top else None


def lowest_best(raw: Sequence[float]) -> list[float] | None:
    top = max(raw, default=0.0)
    return [(top - value) * 100 / top for value in raw] if top else None
