"""What label requirements mean: compiled into one test, whatever their number.

Requirements of one key are folded: wanted values intersect, unwanted values unite, bounds tighten.
A wanted key must be among the object's labels, and an unwanted key or value can only matter if it
is, so a test looks at most once at each label of the object: its cost does not grow with the number
of requirements. Requirements and compiled sets are not tracked by the garbage collector: a watch
with thousands of them adds nothing to its work.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum

import msgspec

Labels = Mapping[str, str]
Match = Callable[[Labels], bool]
_INT64_MAX = 2**63


class LabelOperator(StrEnum):
    EXISTS = "exists"
    DOES_NOT_EXIST = "!"
    EQUALS = "="
    DOUBLE_EQUALS = "=="
    NOT_EQUALS = "!="
    IN = "in"
    NOT_IN = "notin"
    GREATER = "gt"
    LESS = "lt"


class LabelRequirement(msgspec.Struct, frozen=True, gc=False):
    key: str
    operator: LabelOperator
    values: tuple[str, ...] = ()  # sorted, without repeats

    def __str__(self) -> str:
        values = ",".join(self.values)
        match self.operator:
            case LabelOperator.EXISTS:
                return self.key
            case LabelOperator.DOES_NOT_EXIST:
                return f"!{self.key}"
            case LabelOperator.IN | LabelOperator.NOT_IN:
                return f"{self.key} {self.operator} ({values})"
            case LabelOperator.GREATER:
                return f"{self.key}>{values}"
            case LabelOperator.LESS:
                return f"{self.key}<{values}"
            case _:
                return f"{self.key}{self.operator}{values}"


def integer(text: str) -> int | None:
    """A label value as Go's ParseInt reads it."""
    try:
        value = int(text) if text.strip() == text and "_" not in text else None
    except ValueError:
        return None
    return value if value is not None and -_INT64_MAX <= value < _INT64_MAX else None


def compiled(requirements: Iterable[LabelRequirement]) -> Match:
    """The test of all requirements together."""
    folded = _Folded()
    for requirement in requirements:
        folded.add(requirement)
    return folded.match()


class _Folded:
    def __init__(self) -> None:
        self._wanted: dict[str, str | frozenset[str]] = {}
        self._present: set[str] = set()
        self._above: dict[str, int] = {}
        self._below: dict[str, int] = {}
        self._unwanted: dict[str, set[str]] = {}
        self._absent: set[str] = set()

    def add(self, requirement: LabelRequirement) -> None:
        key, values = requirement.key, requirement.values
        match requirement.operator:
            case LabelOperator.EXISTS:
                self._present.add(key)
            case LabelOperator.DOES_NOT_EXIST:
                self._absent.add(key)
            case LabelOperator.EQUALS | LabelOperator.DOUBLE_EQUALS | LabelOperator.IN:
                self._want(key, values)
            case LabelOperator.NOT_EQUALS | LabelOperator.NOT_IN:
                self._unwanted.setdefault(key, set()).update(values)
            case LabelOperator.GREATER:
                bound = int(values[0])
                self._above[key] = max(bound, self._above.get(key, bound))
            case LabelOperator.LESS:
                bound = int(values[0])
                self._below[key] = min(bound, self._below.get(key, bound))

    def _want(self, key: str, values: tuple[str, ...]) -> None:
        known = self._wanted.get(key)
        if known is None:
            self._wanted[key] = values[0] if len(values) == 1 else frozenset(values)
        else:
            self._wanted[key] = _several(known) & frozenset(values)

    def match(self) -> Match:
        equal = {key: value for key, value in self._wanted.items() if isinstance(value, str)}
        among = {key: value for key, value in self._wanted.items() if not isinstance(value, str)}
        tests: list[Match] = []
        if equal:
            tests.append(_all_equal(equal))
        if among:
            tests.append(_all_among(among))
        if present := self._present - self._wanted.keys():
            tests.append(_all_present(frozenset(present)))
        if self._unwanted or self._absent:
            tests.append(_none_unwanted(self._unwanted, frozenset(self._absent)))
        if bounded := self._above.keys() | self._below.keys():
            tests.append(
                _all_bounded({k: (self._above.get(k), self._below.get(k)) for k in bounded})
            )
        if not tests:
            return lambda _: True
        if len(tests) == 1:
            return tests[0]
        return lambda labels: all(test(labels) for test in tests)


def _several(values: str | frozenset[str]) -> frozenset[str]:
    return frozenset((values,)) if isinstance(values, str) else values


def _all_equal(wanted: dict[str, str]) -> Match:
    if len(wanted) == 1:
        ((only, value),) = wanted.items()
        return lambda labels: labels.get(only) == value
    pairs = wanted.items()
    return lambda labels: pairs <= labels.items()


def _all_among(wanted: dict[str, frozenset[str]]) -> Match:
    if len(wanted) == 1:
        ((only, values),) = wanted.items()
        return lambda labels: labels.get(only) in values
    pairs, count = wanted.items(), len(wanted)
    return lambda labels: len(labels) >= count and all(labels.get(k) in v for k, v in pairs)


def _all_present(keys: frozenset[str]) -> Match:
    return lambda labels: len(labels) >= len(keys) and all(key in labels for key in keys)


def _none_unwanted(unwanted: Mapping[str, set[str]], absent: frozenset[str]) -> Match:
    """An object without the key matches, so only keys that the object has are looked up."""
    # One value needs no set of its own, which would take a hundred bytes and more.
    unlike = {
        key: value for key, values in unwanted.items() if len(values) == 1 for value in values
    }
    outside = {key: frozenset(values) for key, values in unwanted.items() if len(values) > 1}
    if len(unlike) == 1 and not outside and not absent:
        ((only, other),) = unlike.items()
        return lambda labels: labels.get(only) != other

    def match(labels: Labels) -> bool:
        for key, value in labels.items():
            if key in absent or unlike.get(key) == value:
                return False
            if key in outside and value in outside[key]:
                return False
        return True

    return match


def _all_bounded(bounds: Mapping[str, tuple[int | None, int | None]]) -> Match:
    def match(labels: Labels) -> bool:
        if len(labels) < len(bounds):
            return False
        for key, (above, below) in bounds.items():
            value = integer(labels.get(key, ""))
            if value is None:
                return False
            if (above is not None and value <= above) or (below is not None and value >= below):
                return False
        return True

    return match
