"""Normalizes raw scores to 0…100: the highest is best, or (descending) the lowest. None: no node is
better than another."""

from __future__ import annotations

from collections.abc import Sequence


def ascending(raw: Sequence[float]) -> Sequence[float] | None:
    top = max(raw, default=0.0)
    return [value * 100 / top for value in raw] if top else None


def descending(raw: Sequence[float]) -> Sequence[float] | None:
    top = max(raw, default=0.0)
    return [(top - value) * 100 / top for value in raw] if top else None
