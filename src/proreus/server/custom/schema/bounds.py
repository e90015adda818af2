"""Validation of single values: types, bounds, lengths, patterns, formats."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from typing import Any

from proreus.api import field_error, go_text
from proreus.api.field_error import FieldError, Reason
from proreus.server.custom.schema.formats import format_check
from proreus.server.custom.schema.matching import Matching, TooMuchWork
from proreus.server.regular_expressions import InvalidExpression

_INT64 = range(-(2**63), 2**63)
_INTEGERS = {
    "int32": range(-(2**31), 2**31), "uint32": range(2**32), "uint64": range(2**64),
}  # fmt: skip
_FLOAT_MAX = 3.4028234663852886e38


def is_of_type(value: Any, wanted: str) -> bool:
    match wanted:
        case "string":
            return isinstance(value, str)
        case "integer":
            if isinstance(value, bool):
                return False
            if isinstance(value, int) and value in _INT64:
                return True
            # To Go the others are floats, which are integers only as far as JSON is exact.
            return isinstance(value, int | float) and abs(value) < 2**53 and value == int(value)
        case "number":
            return isinstance(value, int | float) and not isinstance(value, bool)
        case "boolean":
            return isinstance(value, bool)
        case "array":
            return isinstance(value, list)
        case "object":
            return isinstance(value, dict)
        case _:
            return True


def format_of(value: Any) -> str:
    """The format Go sees in a value."""
    if isinstance(value, bool):
        return ""
    if isinstance(value, int):
        return "int64" if value in _INT64 else "float64"
    return "float64" if isinstance(value, float) else ""


def range_violations(
    number: float, raw: Mapping[str, Any], path: str, what: str = "Checked"
) -> list[FieldError]:
    """Of a number, or a bound, that is none of the type and the format."""
    kind, form = raw.get("type") or "", raw.get("format") or ""
    if kind == "integer":
        fits = number == int(number) and int(number) in _INTEGERS.get(form, _INT64)
    else:
        fits = form not in ("float", "float32") or abs(number) <= _FLOAT_MAX
    if fits:
        return []
    shown = f"with format {form}" if form else "(default format)"
    text = f"{what} value must be of type {kind} {shown} in {path}"
    return [FieldError("<nil>", Reason.INVALID, f'Invalid value: "": {text}')]


def text_violations(
    value: str, raw: Mapping[str, Any], path: str, field: str, matching: Matching
) -> list[FieldError]:
    """The first of length and pattern, and the format.

    Raises PaceExceeded where ``matching`` does.
    """
    found: list[FieldError] = []
    longest, shortest = raw.get("maxLength"), raw.get("minLength")
    if longest is not None and len(value) > longest:
        found.append(field_error.too_long(field, longest))
    elif shortest is not None and len(value) < shortest:
        text = f"{path} in body should be at least {shortest} chars long"
        found.append(field_error.invalid(field, value, text))
    elif (wanted := raw.get("pattern")) and (why := _mismatch(value, wanted, matching)):
        found.append(field_error.invalid(field, value, f"{path} in body {why}"))
    check = format_check(raw.get("format") or "")
    if check is not None and not check(value):
        text = f"{path} in body must be of type {raw['format']}: {field_error.quote(value)}"
        found.append(field_error.type_invalid(field, value, text))
    return found


def _mismatch(value: str, pattern: str, matching: Matching) -> str:
    try:
        return "" if matching.is_found(pattern, value) else f"should match '{pattern}'"
    except InvalidExpression as error:  # of a definition that another server took
        return f"should match '{pattern}, but pattern is invalid: {error}'"
    except TooMuchWork:
        return f"cannot be matched with '{pattern}': it takes too long on texts of this size"


def number_violations(
    value: float, raw: Mapping[str, Any], path: str, field: str
) -> list[FieldError]:
    found = range_violations(value, raw, path)

    def wrong(text: str) -> None:
        found.append(field_error.invalid(field, value, f"{path} in body should be {text}"))

    def bound(word: str, what: str) -> float | None:
        """Go compares integers with integers, of a bound it takes the whole part; but with
        numbers if the bound is not of the type."""
        given: float | None = raw.get(word)
        if given is None:
            return None
        misfits = range_violations(given, raw, path, what)
        found.extend(misfits)
        is_whole = isinstance(value, int) and value in _INT64 and not misfits
        return int(given) if is_whole else float(given)

    step = bound("multipleOf", "MultipleOf")
    if step is not None and step <= 0:
        text = f"factor MultipleOf declared for {path} must be positive: {_number_text(step)}"
        found.append(field_error.invalid(field, step, text))
    elif step is not None and not _is_multiple(value, step):
        wrong(f"a multiple of {_number_text(step)}")
    least = bound("minimum", "Minimum boundary")
    if least is not None:
        if raw.get("exclusiveMinimum"):
            if value <= least:
                wrong(f"greater than {_number_text(least)}")
        elif value < least:
            wrong(f"greater than or equal to {_number_text(least)}")
    most = bound("maximum", "Maximum boundary")
    if most is not None:
        if raw.get("exclusiveMaximum"):
            if value >= most:
                wrong(f"less than {_number_text(most)}")
        elif value > most:
            wrong(f"less than or equal to {_number_text(most)}")
    return found


def list_size_violations(
    value: list[Any], raw: Mapping[str, Any], path: str, field: str
) -> list[FieldError]:
    return _size_violations(
        len(value), raw.get("minItems"), raw.get("maxItems"), "items", path, field
    )


def map_size_violations(
    value: Mapping[str, Any], raw: Mapping[str, Any], path: str, field: str
) -> list[FieldError]:
    least, most = raw.get("minProperties"), raw.get("maxProperties")
    return _size_violations(len(value), least, most, "properties", path, field)


def _size_violations(
    size: int, least: int | None, most: int | None, unit: str, path: str, field: str
) -> list[FieldError]:
    found: list[FieldError] = []
    if least is not None and size < least:
        text = f"{path} in body should have at least {least} {unit}"
        found.append(field_error.invalid(field, size, text))
    if most is not None and size > most:
        found.append(field_error.too_many(field, size, most))
    return found


def _is_multiple(value: float, step: float) -> bool:
    try:
        return Decimal(str(value)) % Decimal(str(step)) == 0
    except InvalidOperation:  # more digits than are counted: not a whole number to Go either
        return False


def _number_text(number: float) -> str:
    return str(number) if isinstance(number, int) else go_text.number(number)
