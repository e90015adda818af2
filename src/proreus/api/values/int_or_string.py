"""IntOrString: a number or a percentage, as rollouts and disruption budgets take them."""

from __future__ import annotations

import re
from math import ceil, floor

_PERCENT = re.compile(r"[0-9]+%", re.ASCII)
_DIGITS_MAX = 18  # far beyond every sensible share, and a number that can be computed with
PERCENT_FORMAT = "a valid percent string must be a numeric string followed by an ending '%'"


def percent(value: int | str) -> int | None:
    """The number before ``%``, None if the value is no percentage."""
    if isinstance(value, str) and _PERCENT.fullmatch(value):
        return int(value[:-1].lstrip("0")[:_DIGITS_MAX] or "0")
    return None


def percent_errors(text: str) -> list[str]:
    """What is wrong with a percentage, in Kubernetes' words."""
    if _PERCENT.fullmatch(text):
        return []
    return [f"{PERCENT_FORMAT} (e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')"]


def scaled(value: int | str, total: int, *, round_up: bool) -> int:
    """The absolute number: a percentage of ``total``, or the number itself.

    Raises ValueError if a string is no percentage.
    """
    if isinstance(value, int):
        return value
    share = percent(value)
    if share is None:
        raise ValueError(
            f"invalid value for IntOrString: invalid type: string is not a percentage: {value!r}"
        )
    exact = share * total / 100
    return ceil(exact) if round_up else floor(exact)
