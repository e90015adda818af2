"""Checking values against a schema: types, bounds, junctors; every violation with its path.

Worded as Kubernetes words it. With the object's old state, what has not changed is not validated
again (ratcheting): a rule that came later does not stop updates of other fields.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from proreus.api import field_error
from proreus.api.field_error import Faults, FieldError, Reason
from proreus.api.patch.json_patch import same
from proreus.server.cel.pace import CostPace, unhurried
from proreus.server.custom.schema import bounds
from proreus.server.custom.schema.correlation import correlate_items
from proreus.server.custom.schema.formats import is_known
from proreus.server.custom.schema.match_count import match_count
from proreus.server.custom.schema.matching import Matching
from proreus.server.custom.schema.structural import MISSING, Structural, parse

_FOUND = "Found none valid"
_NUMBERS = ("integer", "number")


def validate(
    value: Any,
    schema: Structural,
    old: Any = MISSING,
    *,
    at: str = "",
    pace: CostPace | None = None,
    is_default: bool = False,
) -> list[FieldError]:
    """Violations of a value. ``at`` is where it stands; messages name places inside of it.

    In a schema's own defaults an int-or-string is of any type. Raises PaceExceeded.
    """
    found = Faults()
    walk = _Walk(at, found, Matching(pace or unhurried()), types_either=not is_default)
    walk.value(value, schema, "", old)
    return found


def validate_object(
    obj: Mapping[str, Any],
    schema: Structural,
    old: Mapping[str, Any] | Any = MISSING,
    *,
    pace: CostPace | None = None,
) -> list[FieldError]:
    """Violations of a whole object; of its metadata only what the schema says about it."""
    found = Faults()
    walk = _Walk("", found, Matching(pace or unhurried()))
    if old is not MISSING and same(obj, old):
        return found
    walk.junctors(obj, schema.raw, "")
    walk.object(obj, schema, "", old)
    return found


class _Walk:
    __slots__ = ("_at", "_found", "_matching", "_types_either")

    def __init__(
        self, at: str, found: list[FieldError], matching: Matching, *, types_either: bool = True
    ) -> None:
        self._types_either = types_either
        self._at = at
        self._found = found
        self._matching = matching

    def value(self, value: Any, schema: Structural, path: str, old: Any) -> None:
        if old is not MISSING and same(value, old):
            return
        # A value of the wrong type is still looked at for all that applies to what it is.
        self._type(value, schema, path)
        if value is not None:
            self.junctors(value, schema.raw, path)
            self._plain(value, schema, path, old)
        if schema.raw.get("enum"):
            self._enum(value, schema.raw, path)
        if value.__class__ is dict:
            self.object(value, schema, path, old)

    def object(self, value: Mapping[str, Any], schema: Structural, path: str, old: Any) -> None:
        self._found += bounds.map_size_violations(value, schema.raw, path, self._field(path))
        if schema.values is False:
            self._forbidden(value, schema, path)
        old_fields = old if old.__class__ is dict else {}
        for key in sorted(value):
            child = schema.child(key)
            if child is not None:
                # Go writes the dot before a map's key even where nothing stands before it.
                below = _below(path, key) if key in schema.properties else f"{path}.{key}"
                self.value(value[key], child, below, old_fields.get(key, MISSING))
        for key in schema.raw.get("required") or ():
            if key not in value:
                self._add(field_error.required(self._field(_below(path, key))))

    def _forbidden(self, value: Mapping[str, Any], schema: Structural, path: str) -> None:
        for key in sorted(value.keys() - schema.properties.keys()):
            text = f"{path}.{key} in body is a forbidden property"
            self._add(field_error.invalid(self._field(path), key, text))

    def _list(self, value: list[Any], schema: Structural, path: str, old: Any) -> None:
        if schema.items is not None:
            find = correlate_items(schema, old, by_place=True)
            for index, item in enumerate(value):
                self.value(item, schema.items, f"{path}[{index}]", find(index, item))

    def _type(self, value: Any, schema: Structural, path: str) -> None:
        wanted = schema.type
        if schema.int_or_string:
            wanted = "integer,string" if self._types_either else ""
        if not wanted or (value is None and schema.nullable):
            return
        if schema.int_or_string:
            is_fit = any(bounds.is_of_type(value, one) for one in ("integer", "string"))
        else:
            is_fit = bounds.is_of_type(value, wanted)
        form = schema.raw.get("format") or ""
        if not is_known(form):
            form = ""
        if is_fit or (form and isinstance(value, str | list) and wanted not in _NUMBERS):
            return  # Go leaves texts with a format to the format
        if form and value is not None and not isinstance(value, str | list):
            # Go looks at formats first, and then names both sides by their format.
            self._mismatch(form, bounds.format_of(value), path)
        else:
            self._mismatch(wanted, kind_of(value), path)

    def _mismatch(self, wanted: str, found: str, path: str) -> None:
        text = f'{path} in body must be of type {wanted}: "{found}"'
        self._add(field_error.type_invalid(self._field(path), found, text))

    def _plain(self, value: Any, schema: Structural, path: str, old: Any) -> None:
        """Bounds: what concerns only the value itself, and the items of a list before its size."""
        raw, field = schema.raw, self._field(path)
        match value:
            case bool() | dict():
                pass
            case str():
                self._found += bounds.text_violations(value, raw, path, field, self._matching)
            case int() | float():
                self._found += bounds.number_violations(value, raw, path, field)
            case list():
                self._list(value, schema, path, old)
                self._found += bounds.list_size_violations(value, raw, path, field)

    def _enum(self, value: Any, raw: Mapping[str, Any], path: str) -> None:
        allowed = raw.get("enum") or ()
        # Null is none of the values, even where it is listed.
        if value is None or not any(same(value, one) or _is_as(value, one) for one in allowed):
            texts = [one if isinstance(one, str) else field_error.quote(one) for one in allowed]
            printed = field_error.sorted_keys(value)
            self._add(field_error.not_supported(self._field(path), printed, texts))

    def junctors(self, value: Any, raw: Mapping[str, Any], path: str) -> None:
        if options := raw.get("anyOf"):
            self._any_of(value, options, path)
        if options := raw.get("oneOf"):
            self._one_of(value, options, path)
        if options := raw.get("allOf"):
            self._all_of(value, options, path)
        if (refused := raw.get("not")) is not None and self._holds(value, refused, path):
            self._composite(f'"{path}" must not validate the schema (not)')

    # Each option is tried once: options have options, and trying them twice would take a time that
    # doubles with every level.
    def _any_of(self, value: Any, options: Sequence[Mapping[str, Any]], path: str) -> None:
        tried: list[list[FieldError]] = []
        for option in options:
            tried.append(self._violations(value, option, path))
            if not tried[-1]:
                return
        self._composite(f'"{path}" must validate at least one schema (anyOf)')
        self._found += _most_likely(value, options, tried)

    def _one_of(self, value: Any, options: Sequence[Mapping[str, Any]], path: str) -> None:
        tried = [self._violations(value, option, path) for option in options]
        valid = tried.count([])
        if valid != 1:
            found = _FOUND if not valid else f"Found {valid} valid alternatives"
            self._composite(f'"{path}" must validate one and only one schema (oneOf). {found}')
        if not valid:
            self._found += _most_likely(value, options, tried)

    def _all_of(self, value: Any, options: Sequence[Mapping[str, Any]], path: str) -> None:
        tried = [self._violations(value, option, path) for option in options]
        for found in tried:
            self._found += found
        if any(tried):
            none = ". None validated" if all(tried) else ""
            self._composite(f'"{path}" must validate all the schemas (allOf){none}')

    def _composite(self, text: str) -> None:
        self._add(FieldError("<nil>", Reason.INVALID, f'Invalid value: "": {text}'))

    def _violations(self, value: Any, raw: Mapping[str, Any], path: str) -> list[FieldError]:
        found: list[FieldError] = []
        _Walk(self._at, found, self._matching).value(value, parse(raw), path, MISSING)
        return found

    def _holds(self, value: Any, raw: Mapping[str, Any], path: str) -> bool:
        return not self._violations(value, raw, path)

    def _field(self, path: str) -> str:
        if not self._at or not path:
            return self._at or path or "<nil>"
        return f"{self._at}.{path.removeprefix('.')}"

    def _add(self, error: FieldError) -> None:
        self._found.append(error)


def _most_likely(
    value: Any, options: Sequence[Mapping[str, Any]], tried: Sequence[list[FieldError]]
) -> list[FieldError]:
    counts = [match_count(value, parse(option)) for option in options]
    return tried[counts.index(max(counts))]


def _below(path: str, key: str) -> str:
    return f"{path}.{key}" if path else key


def _is_as(value: Any, listed: Any) -> bool:
    """Whether a number is the listed one, in the type of that: of 1.5 the integer is 1."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    if isinstance(listed, bool) or not isinstance(listed, int | float):
        return False
    return int(value) == listed if isinstance(listed, int) else value == listed


def kind_of(value: Any) -> str:
    """What Go's validation calls a value's type."""
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case int() if bounds.format_of(value) == "int64":
            return "integer"
        case int() | float():
            return "number"
        case str():
            return "string"
        case list():
            return "array"
        case _:
            return "object"
