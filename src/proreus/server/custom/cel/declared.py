"""Whether the rules of a schema are well formed: checked when a definition is written."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from proreus.api import field_error
from proreus.api.field_error import FieldError
from proreus.server.custom.cel import cost
from proreus.server.custom.cel.engine import CelError, compile_rule, is_available
from proreus.server.custom.cel.places import resolve
from proreus.server.custom.structural import Structural

_REASONS = (
    "FieldValueDuplicate",
    "FieldValueForbidden",
    "FieldValueInvalid",
    "FieldValueRequired",
)
_OLD_SELF = re.compile(r"\boldSelf\b")
_WITHOUT_CEL = (
    "this server was installed without the extra `cel` and cannot check rules; install "
    "proreus[cel] or remove x-kubernetes-validations"
)


def uses_old_self(rule: Mapping[str, Any]) -> bool:
    return bool(_OLD_SELF.search(rule.get("rule") or ""))


def rule_violations(schema: Structural, at: str) -> list[FieldError]:
    if not is_available():
        return [field_error.forbidden(at, _WITHOUT_CEL)]
    found = list(_below(schema, at, is_correlatable=True))
    return found or cost.violations(schema, at)


def _below(schema: Structural, at: str, *, is_correlatable: bool) -> Iterator[FieldError]:
    for index, rule in enumerate(schema.raw.get("x-kubernetes-validations") or ()):
        place = f"{at}.x-kubernetes-validations[{index}]"
        yield from _rule(rule, schema, place, is_correlatable=is_correlatable)
    for key, child in schema.properties.items():
        if child.has_rules:
            below = f"{at}.properties[{key}]"
            yield from _below(child, below, is_correlatable=is_correlatable)
    if isinstance(schema.values, Structural) and schema.values.has_rules:
        below = f"{at}.additionalProperties"
        yield from _below(schema.values, below, is_correlatable=is_correlatable)
    if schema.items is not None and schema.items.has_rules:
        keyed = is_correlatable and schema.list_type == "map"
        yield from _below(schema.items, f"{at}.items", is_correlatable=keyed)


def _rule(
    rule: Mapping[str, Any], schema: Structural, at: str, *, is_correlatable: bool
) -> Iterator[FieldError]:
    text: str = rule.get("rule") or ""
    if not text.strip():
        yield field_error.required(f"{at}.rule", "rule is not specified")
        return
    yield from _message(rule, text, at)
    reason = rule.get("reason")
    if reason is not None and reason not in _REASONS:
        yield field_error.not_supported(f"{at}.reason", reason, _REASONS)
    path = rule.get("fieldPath")
    if path and resolve(path, schema) is None:
        yield field_error.invalid(f"{at}.fieldPath", path, "must be a valid path")
    optional = rule.get("optionalOldSelf")
    if optional is not None and not uses_old_self(rule):
        yield field_error.invalid(
            f"{at}.optionalOldSelf", optional, "may not be set if oldSelf is not used in rule"
        )
    if uses_old_self(rule) and not is_correlatable and not optional:
        yield field_error.invalid(
            f"{at}.rule",
            text,
            "oldSelf cannot be used on the uncorrelatable portion of the schema within "
            f"{at.rpartition('.x-kubernetes')[0]}",
        )
    for field in ("rule", "messageExpression"):
        if expression := rule.get(field):
            try:
                compile_rule(expression, optional_old=bool(optional))
            except CelError as error:
                yield field_error.invalid(
                    f"{at}.{field}", expression, f"compilation failed: {error}"
                )


def _message(rule: Mapping[str, Any], text: str, at: str) -> Iterator[FieldError]:
    message = rule.get("message")
    if message is not None:
        if message and not message.strip():
            yield field_error.invalid(f"{at}.message", message, "must be non-empty if specified")
        elif "\n" in message.strip():
            yield field_error.invalid(f"{at}.message", message, "must not contain line breaks")
    if "\n" in text.strip() and not message and not rule.get("messageExpression"):
        yield field_error.required(
            f"{at}.message", "message must be specified if rule contains line breaks"
        )
