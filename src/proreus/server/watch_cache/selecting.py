"""What a Selection means for keys and objects: its range of keys, its test, its index entry.

Pure. ``selectors`` are compiled by ``api.selectors``; here they meet the cached object.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from proreus.api.selectors.labels import LabelOperator
from proreus.server.watch_cache.object import CachedObject
from proreus.server.watch_cache.query import Selection

Matches = Callable[[CachedObject], bool]
_EQUALITY = (LabelOperator.EQUALS, LabelOperator.DOUBLE_EQUALS)
_AFTER_SLASH = "0"  # the character that follows "/"


class EventScope(NamedTuple):
    """Where events can come from: "" means any. A tuple: looked up four times per change."""

    namespace: str
    name: str


def scope_of(selection: Selection) -> EventScope:
    """The namespace and name asked for, in the path or by a field pinned to one value."""
    fields = selection.fields
    namespace = selection.namespace or fields.pinned("metadata.namespace") or ""
    name = selection.name or fields.pinned("metadata.name") or ""
    return EventScope(namespace, name)


def key_range(selection: Selection) -> tuple[str, str]:
    """The keys that can match: ``low <= key < high``; high "" means no end."""
    scope = scope_of(selection)
    if not scope.namespace:
        return "", ""
    if scope.name:
        key = f"{scope.namespace}/{scope.name}"
        return key, f"{key}\0"
    return f"{scope.namespace}/", f"{scope.namespace}{_AFTER_SLASH}"


def matcher(selection: Selection) -> Matches | None:
    """The test an object must pass; None if every object passes."""
    checks: list[Matches] = []
    namespace, name = selection.namespace, selection.name
    if namespace:
        checks.append(lambda obj: obj.namespace == namespace)
    if name:
        checks.append(lambda obj: obj.name == name)
    checks += _selector_checks(selection)
    return _all(checks)


def matcher_in_range(selection: Selection) -> Matches | None:
    """Like ``matcher`` for objects that are already known to be in ``key_range``."""
    name = selection.name
    checks: list[Matches] = []
    if name and not scope_of(selection).namespace:
        checks.append(lambda obj: obj.name == name)
    return _all(checks + _selector_checks(selection))


def filtered(objects: list[CachedObject], selection: Selection) -> list[CachedObject]:
    """Those of the objects, all in ``key_range``, that match.

    One plain equality is tested inline first: it costs a third of a call per object, and what is
    left is little. Cost: 0.06 µs per object for that, 0.15 µs for other selectors.
    """
    matches = matcher_in_range(selection)
    if matches is None:
        return objects
    for requirement in selection.labels.requirements:
        if requirement.operator in _EQUALITY:
            key, (value,) = requirement.key, requirement.values
            objects = [obj for obj in objects if obj.labels.get(key) == value]
            break
    return [obj for obj in objects if matches(obj)]


def _selector_checks(selection: Selection) -> list[Matches]:
    checks: list[Matches] = []
    if not selection.labels.is_empty:
        labels_match = selection.labels.matches
        checks.append(lambda obj: labels_match(obj.labels))
    if not selection.fields.is_empty:
        fields_match = selection.fields.matches
        checks.append(lambda obj: fields_match(obj.fields))
    return checks


def _all(checks: list[Matches]) -> Matches | None:
    if not checks:
        return None
    if len(checks) == 1:
        return checks[0]
    if len(checks) == 2:  # a namespace and a selector
        first, second = checks
        return lambda obj: first(obj) and second(obj)
    return lambda obj: all(check(obj) for check in checks)
