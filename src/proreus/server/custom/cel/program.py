"""Running a schema's rules over an object, with its former state for transition rules."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from proreus.api import field_error
from proreus.api.field_error import FieldError, Reason
from proreus.api.patch.json_patch import same
from proreus.server.custom.cel.declared import uses_old_self
from proreus.server.custom.cel.engine import CelError, compile_rule
from proreus.server.custom.cel.places import resolve
from proreus.server.custom.cel.values import cel_value
from proreus.server.custom.structural import MISSING, Structural

_BLOCKING = {
    Reason.NOT_SUPPORTED,
    Reason.REQUIRED,
    Reason.TOO_LONG,
    Reason.TOO_MANY,
    Reason.TYPE_INVALID,
}
_UNCHECKED = FieldError(
    "<nil>",
    Reason.INVALID,
    "Invalid value: null: some validation rules were not checked because the object was invalid; "
    "correct the existing errors to complete validation",
)


def blocked_by(errors: list[FieldError]) -> list[FieldError]:
    """Rules wait until types and sizes are right; what is said then."""
    return [_UNCHECKED] if any(error.reason in _BLOCKING for error in errors) else []


def run_rules(
    value: Any, schema: Structural, old: Any = MISSING, path: str = "", *, is_root: bool = False
) -> Iterator[FieldError]:
    """Violations of the rules of a value and of everything in it."""
    if not schema.has_rules or value is None:
        return
    rules = schema.raw.get("x-kubernetes-validations")
    if rules:
        yield from _own(value, schema, old, path, is_root=is_root)
    if isinstance(value, dict):
        former = old if isinstance(old, dict) else {}
        for key in sorted(value):
            child, place = schema.properties.get(key), f"{path}.{key}" if path else key
            if child is None and isinstance(schema.values, Structural):
                child, place = schema.values, f"{path}[{key}]"
            if child is not None and child.has_rules:
                yield from run_rules(value[key], child, former.get(key, MISSING), place)
    elif isinstance(value, list) and schema.items is not None:
        for index, item in enumerate(value):
            before = _former(item, schema, old)
            yield from run_rules(item, schema.items, before, f"{path}[{index}]")


def _former(item: Any, schema: Structural, old: Any) -> Any:
    if not isinstance(old, list) or schema.list_type != "map" or not isinstance(item, dict):
        return MISSING
    keys = schema.list_map_keys
    for other in old:
        if isinstance(other, dict) and all(other.get(k) == item.get(k) for k in keys):
            return other
    return MISSING


def _own(
    value: Any, schema: Structural, old: Any, path: str, *, is_root: bool
) -> Iterator[FieldError]:
    has_old = old is not MISSING and old is not None
    is_unchanged = has_old and same(value, old)
    mine = cel_value(value, schema, is_root=is_root)
    before = cel_value(old, schema, is_root=is_root) if has_old else None
    for rule in schema.raw["x-kubernetes-validations"]:
        is_transition = uses_old_self(rule)
        optional = bool(rule.get("optionalOldSelf"))
        if is_transition and not has_old and not optional:
            continue
        if is_unchanged and not is_transition:
            continue  # ratcheting: it was so before
        try:
            program = compile_rule(rule["rule"], optional_old=optional)
            holds = program.evaluate(mine, before, has_old=has_old)
        except CelError as error:
            yield _failed(rule, schema, path, str(error))
            continue
        if holds is not True:
            message = _message(rule, mine, before, has_old=has_old)
            yield _violation(rule, value, schema, path, message)


def _message(rule: Mapping[str, Any], mine: Any, before: Any, *, has_old: bool) -> str:
    if expression := rule.get("messageExpression"):
        optional = bool(rule.get("optionalOldSelf"))
        try:
            text = compile_rule(expression, optional_old=optional).evaluate(
                mine, before, has_old=has_old
            )
        except CelError:
            text = None
        if isinstance(text, str) and text.strip() and "\n" not in text:
            return text
    return rule.get("message") or f"failed rule: {rule['rule'].strip()}"


def _violation(
    rule: Mapping[str, Any], value: Any, schema: Structural, path: str, message: str
) -> FieldError:
    field = path + (resolve(rule.get("fieldPath") or "", schema) or "")
    field = field.removeprefix(".") or "<nil>"
    match rule.get("reason"):
        case "FieldValueForbidden":
            return field_error.forbidden(field, message)
        case "FieldValueRequired":
            return field_error.required(field, message)
        case "FieldValueDuplicate":
            shown = "" if isinstance(value, dict | list) else f": {field_error.quote(value)}"
            return FieldError(field, Reason.DUPLICATE, f"Duplicate value{shown}")
        case _:
            shown = "" if isinstance(value, dict | list) else f"{field_error.quote(value)}: "
            return FieldError(field, Reason.INVALID, f"Invalid value: {shown}{message}")


def _failed(rule: Mapping[str, Any], schema: Structural, path: str, why: str) -> FieldError:
    told = rule.get("message") or rule["rule"].strip()
    return field_error.invalid(path or "<nil>", schema.type, f"{why} evaluating rule: {told}")
