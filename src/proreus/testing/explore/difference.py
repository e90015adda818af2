"""How two normal states differ, as lines for people. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from proreus.api.wire import json
from proreus.testing.explore.normalization import NormalObjects

_VALUE_MAX = 120


def differences(expected: NormalObjects, found: NormalObjects) -> list[str]:
    """Nothing: the states are the same."""
    return [
        line
        for title in sorted(expected.keys() | found.keys())
        for line in _of(title, expected.get(title, []), found.get(title, []))
    ]


def _of(title: str, expected: list[Any], found: list[Any]) -> Iterator[str]:
    missing, extra = _without_equal(expected, found), _without_equal(found, expected)
    if len(expected) != len(found):
        if len(expected) <= 1 and len(found) <= 1:
            yield f"- {title} is missing" if expected else f"+ {title} should not be there"
        else:
            yield f"~ {len(found)} × {title}, not {len(expected)}"
        return
    for before, after in zip(missing, extra, strict=True):
        yield from _changed(title, "", before, after)


def _without_equal(these: list[Any], those: list[Any]) -> list[Any]:
    rest = [json.canonical(one) for one in those]
    left = []
    for one in these:
        encoded = json.canonical(one)
        if encoded in rest:
            rest.remove(encoded)
        else:
            left.append(one)
    return left


def _changed(title: str, path: str, before: Any, after: Any) -> Iterator[str]:
    if isinstance(before, dict) and isinstance(after, dict):
        for key in sorted(before.keys() | after.keys()):
            if key not in after:
                yield f"- {title}{path}.{key}: {_short(before[key])} is missing"
            elif key not in before:
                yield f"+ {title}{path}.{key}: {_short(after[key])}"
            else:
                yield from _changed(title, f"{path}.{key}", before[key], after[key])
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for place, (one, other) in enumerate(zip(before, after, strict=True)):
            yield from _changed(title, f"{path}[{place}]", one, other)
    elif before != after:
        yield f"~ {title}{path}: {_short(after)}, not {_short(before)}"


def _short(value: Any) -> str:
    text = json.encode(value).decode()
    return text if len(text) <= _VALUE_MAX else f"{text[:_VALUE_MAX]}…"
