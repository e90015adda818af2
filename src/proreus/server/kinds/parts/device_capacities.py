"""Which shares of a device's capacity can be asked for."""

from __future__ import annotations

from itertools import pairwise

from proreus.api.json_types import Json
from proreus.api.values.quantity import Quantity, from_amount, parse
from proreus.server.kinds.parts.findings import Findings, items, repeats

_VALUES_MAX = 10
_ONE_POLICY = (
    'exactly one policy can be specified, cannot specify "validValues" and "validRange" at the '
    "same time"
)


def check_request_policy(found: Findings, at: str, capacity: Json, *, is_shared: bool) -> None:
    """``is_shared``: several claims may have the device at once."""
    if (policy := capacity.get("requestPolicy")) is None:
        return
    at = f"{at}.requestPolicy"
    if not is_shared:
        found.forbid(at, "allowMultipleAllocations must be true")
        return
    values, bounds = policy.get("validValues") or [], policy.get("validRange")
    if values and bounds is not None:
        found.forbid(at, _ONE_POLICY)
        return
    key = "validValues" if values else "validRange"
    if not values and bounds is None:
        return
    if policy.get("default") is None:
        found.require(f"{at}.default", None, f"required when {key} is defined")
        return
    default, whole = _quantity(policy["default"]), _quantity(capacity.get("value") or "0")
    if values:
        _check_values(found, f"{at}.{key}", values, default, whole)
    else:
        _check_range(found, f"{at}.{key}", bounds or {}, default, whole)


def _check_values(
    found: Findings, at: str, given: list[str], default: Quantity, whole: Quantity
) -> None:
    values = [_quantity(one) for one in given]
    for index, (value, after) in enumerate(pairwise(values), 1):
        if value.amount > after.amount:
            why = "values must be sorted in ascending order"
            found.invalid(f"{at}[{index}]", str(after), why)
    if len(values) > _VALUES_MAX:
        found.at_most(at, values, _VALUES_MAX)
    else:
        for where, value in items(values, at):
            if value.amount > whole.amount:
                found.invalid(where, str(value), f"option is larger than capacity value: {whole}")
        for where, text, is_repeated in repeats([str(_up(value)) for value in values], at):
            if is_repeated:
                found.duplicate(where, text)
    if len(values) > _VALUES_MAX or default.amount not in [value.amount for value in values]:
        why = "default value is not valid according to the requestPolicy"
        found.invalid(at, str(default), why)


def _check_range(
    found: Findings, at: str, bounds: Json, default: Quantity, whole: Quantity
) -> None:
    if bounds.get("min") is None:
        found.require(f"{at}.min", None, "required when validRange is defined")
        return
    least = _quantity(bounds["min"])
    most = _quantity(bounds["max"]) if bounds.get("max") is not None else None
    if least.amount > whole.amount:
        found.invalid(f"{at}.min", str(least), f"min is larger than capacity value: {whole}")
    if default.amount < least.amount:
        found.invalid(f"{at}.min", str(default), f"default is less than min: {least}")
    if most is not None:
        if least.amount > most.amount:
            found.invalid(f"{at}.max", str(least), f"min is larger than max: {most}")
        if most.amount > whole.amount:
            found.invalid(f"{at}.max", str(most), f"max is larger than capacity value: {whole}")
        if default.amount > most.amount:
            found.invalid(f"{at}.max", str(default), f"default is more than max: {most}")
    if bounds.get("step") is not None:
        step = _quantity(bounds["step"])
        one = from_amount(least.amount + step.amount, least.format)
        if one.amount > whole.amount:
            why = f"one step {one} is larger than capacity value: {whole}"
            found.invalid(f"{at}.step", str(step), why)
        for value in (default, most) if most is not None else (default,):
            if _up(step) and (_up(value) - _up(least)) % _up(step):
                why = f"value is not a multiple of a given step ({step}) from ({least})"
                found.invalid(f"{at}.step", str(value), why)


def _quantity(value: object) -> Quantity:
    return parse(str(value))


def _up(value: Quantity) -> int:
    return -(-value.amount.numerator // value.amount.denominator)
