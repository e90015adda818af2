"""A list of violations with a method for each common rule.

Methods take the field's path first and the value next, and add nothing if the rule holds or, but
for ``require``, if the value is absent (None).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from proreus.api import field_error
from proreus.api.field_error import Faults, FieldError
from proreus.api.json_types import Json, JsonObject
from proreus.api.values import names
from proreus.api.wire import json

NameRule = Callable[[str], list[str]]

_HTTP_PATH = re.compile(r"[A-Za-z0-9/\-._~%!$&'()*+,;=:]+")
NOT_NEGATIVE = "must be greater than or equal to 0"
IMMUTABLE = "field is immutable"


class Findings(Faults):
    """Collects violations in Kubernetes' order of checks."""

    def invalid(self, at: str, value: object, why: str) -> None:
        self.append(field_error.invalid(at, value, why))

    def forbid(self, at: str, why: str) -> None:
        self.append(field_error.forbidden(at, why))

    def require(self, at: str, value: object, why: str = "") -> bool:
        """Whether the value is there; empty strings, lists and maps are not."""
        if not value:
            self.append(field_error.required(at, why))
            return False
        return True

    def duplicate(self, at: str, value: object) -> None:
        self.append(field_error.duplicate(at, value))

    def not_found(self, at: str, value: object, why: str = "") -> None:
        self.append(field_error.not_found(at, value, why))

    def one_of(self, at: str, value: object, allowed: Sequence[str]) -> None:
        if value is not None and value not in allowed:
            self.append(field_error.not_supported(at, value, allowed))

    def required_one_of(self, at: str, value: object, allowed: Sequence[str]) -> None:
        """Required if missing, not supported if it is none of the allowed."""
        if self.require(at, value):
            self.one_of(at, value, allowed)

    def name(self, at: str, text: str | None, rule: NameRule = names.dns_subdomain) -> None:
        if text is not None:
            for why in rule(text):
                self.append(field_error.invalid(at, text, why))

    def required_name(
        self, at: str, text: str | None, rule: NameRule = names.dns_subdomain
    ) -> None:
        if self.require(at, text):
            self.name(at, text, rule)

    def not_negative(self, at: str, value: int | None) -> None:
        if value is not None and value < 0:
            self.invalid(at, value, NOT_NEGATIVE)

    def greater_than_zero(self, at: str, value: int | None) -> None:
        if value is not None and value <= 0:
            self.invalid(at, value, "must be greater than 0")

    def between(self, at: str, value: int | None, low: int, high: int) -> None:
        if value is not None and not low <= value <= high:
            self.invalid(at, value, f"must be between {low} and {high}, inclusive")

    def port(self, at: str, value: int | None) -> None:
        self.between(at, value, 1, 65535)

    def port_or_name(self, at: str, value: int | str | None) -> None:
        if isinstance(value, str):
            self.name(at, value, names.port_name)
        else:
            self.port(at, value)

    def domain_prefixed_path(self, at: str, text: str) -> None:
        """``acme.io/foo``; each half is printed alone if it alone is wrong."""
        if not self.require(at, text):
            return
        host, _, path = text.partition("/")
        if not host or not path:
            self.invalid(at, text, 'must be a domain-prefixed path (such as "acme.io/foo")')
            return
        self.name(at, host)
        if not _HTTP_PATH.fullmatch(path):
            self.invalid(at, path, names.regex_text("Invalid path", _HTTP_PATH.pattern))

    def labels(self, at: str, labels: Mapping[str, str] | None) -> None:
        for key in sorted(labels or ()):
            self.name(at, key, names.qualified_name)
            self.name(at, (labels or {})[key], names.label_value)

    def immutable(self, at: str, new: object, old: object) -> None:
        if new != old:
            self.invalid(at, new, IMMUTABLE)

    def unchanged(self, new: Json, old: Json, *keys: str, at: str = "") -> None:
        """``at``: the path of the object that has the keys, with its dot."""
        for key in keys:
            self.immutable(f"{at}{key}", new.get(key), old.get(key))

    def declared_immutable(self, new: Json, old: Json, *keys: str, at: str = "") -> None:
        """Of fields whose type declares it: Kubernetes then prints no value, whatever it is."""
        for key in keys:
            if new.get(key) != old.get(key):
                self.invalid(f"{at}{key}", None, IMMUTABLE)

    def at_most(self, at: str, values: Sequence[Any] | None, limit: int) -> None:
        if values and len(values) > limit:
            self.append(field_error.too_many(at, len(values), limit))

    def unique(self, at: str, values: Iterable[Any]) -> None:
        """Each value once; ``at`` is the list's path."""
        seen: set[bytes] = set()
        for index, value in enumerate(values):
            if (known := json.canonical(value)) in seen:
                self.duplicate(f"{at}[{index}]", value)
            seen.add(known)


def immutable_spec(new: JsonObject, old: JsonObject) -> list[FieldError]:
    """The update rule of kinds whose spec cannot be changed."""
    found = Findings()
    found.declared_immutable(new, old, "spec")
    return found


def items(value: Sequence[Any] | None, at: str) -> Sequence[tuple[str, Any]]:
    """Each element with its path; nothing for None."""
    if not value:
        return ()
    return [(f"{at}[{index}]", item) for index, item in enumerate(value)]


def repeats(values: Sequence[Hashable] | None, at: str) -> Iterator[tuple[str, Any, bool]]:
    """Each element with its path, and whether it came before."""
    seen: set[Hashable] = set()
    for where, value in items(values, at):
        yield where, value, value in seen
        seen.add(value)
