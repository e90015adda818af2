"""Checking values against a schema: types, bounds, junctors; every violation with its path.

Worded as Kubernetes words it. With the object's former state, what has not changed is not judged
again (ratcheting): a rule that came later does not stop updates of other fields.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from proreus.api import field_error
from proreus.api.field_error import Faults, FieldError, Reason
from proreus.api.patch.json_patch import same
from proreus.server.custom import bounds
from proreus.server.custom.former import former_items
from proreus.server.custom.structural import MISSING, TYPE_FIELDS, Structural, parse

_FOUND = "Found none valid"


def validate(
    value: Any, schema: Structural, old: Any = MISSING, *, at: str = ""
) -> list[FieldError]:
    """Violations of a value. ``at`` is where it stands; messages name places inside of it."""
    found = Faults()
    _Walk(at, found).value(value, schema, "", old)
    return found


def validate_object(
    obj: Mapping[str, Any], schema: Structural, old: Mapping[str, Any] | Any = MISSING
) -> list[FieldError]:
    """Violations of a whole object; of its metadata only what the schema says about it."""
    found = Faults()
    walk = _Walk("", found)
    if old is not MISSING and same(obj, old):
        return found
    walk.junctors(obj, schema.raw, "")
    walk.object(obj, schema, "", old, reserved=("apiVersion", "kind"))
    return found


class _Walk:
    __slots__ = ("_at", "_found")

    def __init__(self, at: str, found: list[FieldError]) -> None:
        self._at = at
        self._found = found

    def value(self, value: Any, schema: Structural, path: str, old: Any) -> None:
        if old is not MISSING and same(value, old):
            return
        if value is None and (schema.nullable or (not schema.type and not schema.int_or_string)):
            if "enum" in schema.raw:
                self._enum(value, schema.raw, path)
            return
        if not self._type(value, schema, path):
            return
        self.junctors(value, schema.raw, path)
        self._plain(value, schema.raw, path)
        if value.__class__ is dict:
            reserved = TYPE_FIELDS if schema.is_embedded else ()
            self.object(value, schema, path, old, reserved=reserved)
        elif value.__class__ is list:
            self._list(value, schema, path, old)

    def object(
        self,
        value: Mapping[str, Any],
        schema: Structural,
        path: str,
        old: Any,
        *,
        reserved: Sequence[str],
    ) -> None:
        for key in schema.raw.get("required") or ():
            if key not in value:
                self._add(field_error.required(self._field(_below(path, key))))
        former = old if old.__class__ is dict else {}
        for key in sorted(value):
            child = schema.child(key)
            if child is None or key in reserved:
                continue
            self.value(value[key], child, _below(path, key), former.get(key, MISSING))

    def _list(self, value: list[Any], schema: Structural, path: str, old: Any) -> None:
        if schema.items is not None:
            find = former_items(schema, old, by_place=True)
            for index, item in enumerate(value):
                self.value(item, schema.items, f"{path}[{index}]", find(index, item))

    def _type(self, value: Any, schema: Structural, path: str) -> bool:
        wanted = schema.type
        if schema.int_or_string:
            if isinstance(value, str) or (isinstance(value, int) and not isinstance(value, bool)):
                return True
            self._mismatch("integer,string", kind_of(value), path)
            return False
        if not wanted or bounds.is_of_type(value, wanted):
            self._number_format(value, schema.raw, path)
            return True
        form = schema.raw.get("format")
        if form and not isinstance(value, str | list):
            # Go looks at formats first, and then tells both sides by their format.
            self._mismatch(form, bounds.format_of(value), path)
            self._number_format(value, schema.raw, path)
        else:
            self._mismatch(wanted, kind_of(value), path)
        return False

    def _mismatch(self, wanted: str, found: str, path: str) -> None:
        text = f'{path} in body must be of type {wanted}: "{found}"'
        self._add(field_error.type_invalid(self._field(path), found, text))

    def _number_format(self, value: Any, raw: Mapping[str, Any], path: str) -> None:
        form = raw.get("format")
        if form and not bounds.fits_format(value, form):
            text = f"Checked value must be of type {raw.get('type')} with format {form} in {path}"
            self._add(FieldError("<nil>", Reason.INVALID, f'Invalid value: "": {text}'))

    def _plain(self, value: Any, raw: Mapping[str, Any], path: str) -> None:
        """Bounds and enumerations: what concerns only the value itself."""
        field = self._field(path)
        match value:
            case bool() | None:
                found = []
            case str():
                found = bounds.of_text(value, raw, path, field)
            case int() | float():
                found = bounds.of_number(value, raw, path, field)
            case list():
                found = bounds.of_list(value, raw, path, field)
            case dict():
                found = bounds.of_map(value, raw, path, field)
            case _:
                found = []
        self._found += found
        if "enum" in raw:
            self._enum(value, raw, path)

    def _enum(self, value: Any, raw: Mapping[str, Any], path: str) -> None:
        allowed = raw.get("enum") or ()
        if not any(same(value, one) or _equal_numbers(value, one) for one in allowed):
            texts = [one if isinstance(one, str) else field_error.quote(one) for one in allowed]
            self._add(field_error.not_supported(self._field(path), value, texts))

    def junctors(self, value: Any, raw: Mapping[str, Any], path: str) -> None:
        for part in raw.get("allOf") or ():
            self._part(value, part, path)
        if (options := raw.get("anyOf")) and not any(self._holds(value, o, path) for o in options):
            self._composite(f'"{path}" must validate at least one schema (anyOf)')
            best = min((self._violations(value, o, path) for o in options), key=len)
            self._found += best
        if options := raw.get("oneOf"):
            valid = [o for o in options if self._holds(value, o, path)]
            if len(valid) != 1:
                found = _FOUND if not valid else f"Found {len(valid)} valid alternatives"
                self._composite(f'"{path}" must validate one and only one schema (oneOf). {found}')
                if not valid:
                    best = min((self._violations(value, o, path) for o in options), key=len)
                    self._found += best
        if (refused := raw.get("not")) is not None and self._holds(value, refused, path):
            self._composite(f'"{path}" must not validate the schema (not)')

    def _composite(self, text: str) -> None:
        self._add(FieldError("<nil>", Reason.INVALID, f'Invalid value: "": {text}'))

    def _part(self, value: Any, raw: Mapping[str, Any], path: str) -> None:
        self._found += self._violations(value, raw, path)

    def _violations(self, value: Any, raw: Mapping[str, Any], path: str) -> list[FieldError]:
        found: list[FieldError] = []
        _Walk(self._at, found).value(value, parse(raw), path, MISSING)
        return found

    def _holds(self, value: Any, raw: Mapping[str, Any], path: str) -> bool:
        return not self._violations(value, raw, path)

    def _field(self, path: str) -> str:
        if not self._at or not path:
            return self._at or path or "<nil>"
        return self._at + path if path.startswith("[") else f"{self._at}.{path}"

    def _add(self, error: FieldError) -> None:
        self._found.append(error)


def _below(path: str, key: str) -> str:
    return f"{path}.{key}" if path else key


def _equal_numbers(left: Any, right: Any) -> bool:
    numbers = int | float
    return (
        isinstance(left, numbers)
        and isinstance(right, numbers)
        and not isinstance(left, bool)
        and not isinstance(right, bool)
        and left == right
    )


def kind_of(value: Any) -> str:
    """What Go's validation calls a value's type."""
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case int():
            return "integer"
        case float():
            return "number"
        case str():
            return "string"
        case list():
            return "array"
        case _:
            return "object"
