"""Label selectors: ``tier in (web,db),!canary,weight>5``.

``parse`` reads the query string form, ``from_object`` the form inside specs. A selector is a value:
immutable, comparable, hashable. ``matches`` is compiled when the selector is built, because it runs
once per object of a filtered list and once per event and watcher.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from proreus.api import field_error
from proreus.api.field_error import FieldError
from proreus.api.selectors.errors import SelectorError
from proreus.api.selectors.label_syntax import Parser, RawRequirement
from proreus.api.values.names import label_value, qualified_name

Labels = Mapping[str, str]
_INT64_MAX = 2**63


class Operator(StrEnum):
    EXISTS = "exists"
    DOES_NOT_EXIST = "!"
    EQUALS = "="
    DOUBLE_EQUALS = "=="
    NOT_EQUALS = "!="
    IN = "in"
    NOT_IN = "notin"
    GREATER = "gt"
    LESS = "lt"


_FROM_OBJECT = {
    "In": Operator.IN,
    "NotIn": Operator.NOT_IN,
    "Exists": Operator.EXISTS,
    "DoesNotExist": Operator.DOES_NOT_EXIST,
}


@dataclass(frozen=True, slots=True)
class Requirement:
    key: str
    operator: Operator
    values: tuple[str, ...] = ()  # sorted, without repeats

    def __str__(self) -> str:
        values = ",".join(self.values)
        match self.operator:
            case Operator.EXISTS:
                return self.key
            case Operator.DOES_NOT_EXIST:
                return f"!{self.key}"
            case Operator.IN | Operator.NOT_IN:
                return f"{self.key} {self.operator} ({values})"
            case Operator.GREATER:
                return f"{self.key}>{values}"
            case Operator.LESS:
                return f"{self.key}<{values}"
            case _:
                return f"{self.key}{self.operator}{values}"


class LabelSelector:
    """All requirements must hold; none means everything."""

    __slots__ = ("matches", "requirements")

    matches: Callable[[Labels], bool]
    requirements: tuple[Requirement, ...]

    def __init__(self, requirements: Iterable[Requirement] = ()) -> None:
        self.requirements = tuple(sorted(requirements, key=lambda r: (r.key, str(r))))
        self.matches = _compile(self.requirements)

    @classmethod
    def everything(cls) -> LabelSelector:
        return _EVERYTHING

    @classmethod
    def parse(cls, text: str) -> LabelSelector:
        """Read the query form. Raises SelectorError."""
        if not text.strip():
            return _EVERYTHING
        return cls(Parser(text, _checked).requirements())

    @classmethod
    def from_object(cls, selector: Mapping[str, Any] | None) -> LabelSelector:
        """Read ``{matchLabels, matchExpressions}``; empty selects everything."""
        if not selector:
            return _EVERYTHING
        found = [
            Requirement(key, Operator.EQUALS, (value,))
            for key, value in (selector.get("matchLabels") or {}).items()
        ]
        for expression in selector.get("matchExpressions") or ():
            operator = _FROM_OBJECT.get(expression.get("operator", ""))
            if operator is None:
                raise SelectorError(
                    f'"{expression.get("operator", "")}" is not a valid label selector operator'
                )
            values = tuple(sorted(set(expression.get("values") or ())))
            found.append(Requirement(expression["key"], operator, values))
        return cls(found)

    @property
    def is_empty(self) -> bool:
        return not self.requirements

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LabelSelector) and self.requirements == other.requirements

    def __hash__(self) -> int:
        return hash(self.requirements)

    def __str__(self) -> str:
        return ",".join(str(requirement) for requirement in self.requirements)

    def __repr__(self) -> str:
        return f"<LabelSelector {self or 'everything'}>"


def _checked(raw: RawRequirement) -> Requirement:
    """A requirement whose key and values are legal, or SelectorError with every violation."""
    if problems := qualified_name(raw.key):
        # The key has no field path in Kubernetes; it prints as <nil>.
        raise SelectorError(str(field_error.invalid("<nil>", raw.key, "; ".join(problems))))
    operator, values = Operator(raw.operator), tuple(sorted(set(raw.values)))
    errors: list[FieldError] = []
    if operator in (Operator.GREATER, Operator.LESS):
        errors += [
            field_error.invalid(
                f"values[{i}]", value, "for 'Gt', 'Lt' operators, the value must be an integer"
            )
            for i, value in enumerate(values)
            if _integer(value) is None
        ]
    errors += [
        field_error.invalid(f"values[{i}][{raw.key}]", value, "; ".join(problems))
        for i, value in enumerate(values)
        if (problems := label_value(value))
    ]
    if errors:
        raise SelectorError(field_error.join(errors))
    return Requirement(raw.key, operator, values)


def _integer(text: str) -> int | None:
    try:
        value = int(text) if text.strip() == text and "_" not in text else None
    except ValueError:
        return None
    return value if value is not None and -_INT64_MAX <= value < _INT64_MAX else None


def _compile(requirements: tuple[Requirement, ...]) -> Callable[[Labels], bool]:
    checks = [_check(requirement) for requirement in requirements]
    if not checks:
        return lambda _: True
    if len(checks) == 1:
        return checks[0]
    return lambda labels: all(check(labels) for check in checks)


def _check(requirement: Requirement) -> Callable[[Labels], bool]:
    key, values = requirement.key, frozenset(requirement.values)
    match requirement.operator:
        case Operator.EXISTS:
            return lambda labels: key in labels
        case Operator.DOES_NOT_EXIST:
            return lambda labels: key not in labels
        case Operator.EQUALS | Operator.DOUBLE_EQUALS:
            (wanted,) = values
            return lambda labels: labels.get(key) == wanted
        case Operator.IN:
            return lambda labels: labels.get(key) in values
        case Operator.NOT_EQUALS | Operator.NOT_IN:
            # An object without the key matches too.
            return lambda labels: labels.get(key) not in values
        case Operator.GREATER:
            above = int(requirement.values[0])
            return lambda labels: (n := _integer(labels.get(key, ""))) is not None and n > above
        case Operator.LESS:
            below = int(requirement.values[0])
            return lambda labels: (n := _integer(labels.get(key, ""))) is not None and n < below


_EVERYTHING = LabelSelector()
