"""What a schema says of single values: types, numbers, lengths, patterns, formats."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from proreus.api import field_error
from proreus.api.field_error import FieldError
from proreus.server.custom.formats import FORMATS
from proreus.server.custom.go_regexp import is_found
from proreus.server.custom.linear_regexp import TooLaborious

_INT64 = range(-(2**63), 2**63)
_INT32 = range(-(2**31), 2**31)
_FLOAT_MAX = 3.4028234663852886e38


def is_of_type(value: Any, wanted: str) -> bool:
    match wanted:
        case "string":
            return isinstance(value, str)
        case "integer":
            if isinstance(value, bool):
                return False
            if isinstance(value, float):
                return value.is_integer()
            return isinstance(value, int) and value in _INT64
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


def fits_format(value: Any, form: str) -> bool:
    """Whether a number is in the range of its format; strings are judged by ``of_text``."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return True
    match form:
        case "int32":
            return value in _INT32 if isinstance(value, int) else abs(value) < 2**31
        case "int64":
            return value in _INT64 if isinstance(value, int) else abs(value) < 2**63
        case "float":
            return abs(value) <= _FLOAT_MAX
        case _:
            return True


def of_text(value: str, raw: Mapping[str, Any], path: str, field: str) -> list[FieldError]:
    found: list[FieldError] = []
    longest, shortest = raw.get("maxLength"), raw.get("minLength")
    if longest is not None and len(value) > longest:
        found.append(field_error.too_long(field, longest))
    if shortest is not None and len(value) < shortest:
        text = f"{path} in body should be at least {shortest} chars long"
        found.append(field_error.invalid(field, value, text))
    if wanted := raw.get("pattern"):
        found += _of_pattern(value, wanted, path, field)
    check = FORMATS.get(raw.get("format") or "")
    if check is not None and not check(value):
        text = f"{path} in body must be of type {raw['format']}: {field_error.quote(value)}"
        found.append(field_error.type_invalid(field, value, text))
    return found


def _of_pattern(value: str, pattern: str, path: str, field: str) -> list[FieldError]:
    try:
        if is_found(pattern, value):
            return []
    except TooLaborious as error:
        text = f"{path} in body cannot be matched with '{pattern}': {error}; install proreus[cel]"
        return [field_error.invalid(field, value, text)]
    return [field_error.invalid(field, value, f"{path} in body should match '{pattern}'")]


def of_number(value: float, raw: Mapping[str, Any], path: str, field: str) -> list[FieldError]:
    found: list[FieldError] = []

    def wrong(text: str) -> None:
        found.append(field_error.invalid(field, value, f"{path} in body should be {text}"))

    least, most, step = raw.get("minimum"), raw.get("maximum"), raw.get("multipleOf")
    if step is not None and not _is_multiple(value, step):
        wrong(f"a multiple of {_shown(step)}")
    if most is not None:
        if raw.get("exclusiveMaximum"):
            if value >= most:
                wrong(f"less than {_shown(most)}")
        elif value > most:
            wrong(f"less than or equal to {_shown(most)}")
    if least is not None:
        if raw.get("exclusiveMinimum"):
            if value <= least:
                wrong(f"greater than {_shown(least)}")
        elif value < least:
            wrong(f"greater than or equal to {_shown(least)}")
    return found


def of_list(value: list[Any], raw: Mapping[str, Any], path: str, field: str) -> list[FieldError]:
    return _of_size(len(value), raw.get("minItems"), raw.get("maxItems"), "items", path, field)


def of_map(
    value: Mapping[str, Any], raw: Mapping[str, Any], path: str, field: str
) -> list[FieldError]:
    least, most = raw.get("minProperties"), raw.get("maxProperties")
    return _of_size(len(value), least, most, "properties", path, field)


def _of_size(
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
    return not step or Decimal(str(value)) % Decimal(str(step)) == 0


def _shown(number: float) -> str:
    """Whole numbers without a fraction."""
    return str(int(number)) if float(number).is_integer() else str(number)
