"""Label selectors: ``tier in (web,db),!canary,weight>5``.

``parse`` reads the query string form, ``from_object`` the form inside specs. A selector is a value:
immutable, comparable, hashable. ``matches`` is compiled when the selector is built, because it runs
once per object of a filtered list and once per event and watcher (``label_match``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from proreus.api import field_error
from proreus.api.field_error import FieldError
from proreus.api.json_types import Json
from proreus.api.selectors.errors import SelectorError
from proreus.api.selectors.label_match import (
    LabelOperator,
    LabelRequirement,
    Labels,
    compiled,
    integer,
)
from proreus.api.selectors.label_syntax import Parser, RawRequirement
from proreus.api.selectors.selector import Selector
from proreus.api.values.names import label_value, qualified_name

__all__ = ["LabelOperator", "LabelRequirement", "LabelSelector"]

_FROM_OBJECT = {
    "In": LabelOperator.IN,
    "NotIn": LabelOperator.NOT_IN,
    "Exists": LabelOperator.EXISTS,
    "DoesNotExist": LabelOperator.DOES_NOT_EXIST,
}


class LabelSelector(Selector[LabelRequirement]):
    """All requirements must hold; none means everything."""

    __slots__ = ("matches",)

    matches: Callable[[Labels], bool]

    def __init__(self, requirements: Iterable[LabelRequirement] = ()) -> None:
        self.requirements = tuple(sorted(requirements, key=_key))
        self.matches = compiled(self.requirements)

    @classmethod
    def everything(cls) -> LabelSelector:
        return _EVERYTHING

    @classmethod
    def parse(cls, text: str) -> LabelSelector:
        """Read the query form. Raises SelectorError."""
        if not text.strip():
            return _EVERYTHING
        return cls(sorted(set(Parser(text, _Checks()).requirements()), key=_order))

    @classmethod
    def from_object(cls, selector: Json | None) -> LabelSelector:
        """Read ``{matchLabels, matchExpressions}``; empty selects everything.

        Requirements of one key stay in their order, which the text of a Scale's selector shows.
        """
        if not selector:
            return _EVERYTHING
        found = [
            LabelRequirement(key, LabelOperator.EQUALS, (value,))
            for key, value in (selector.get("matchLabels") or {}).items()
        ]
        for expression in selector.get("matchExpressions") or ():
            operator = _FROM_OBJECT.get(expression.get("operator", ""))
            if operator is None:
                raise SelectorError(
                    f'"{expression.get("operator", "")}" is not a valid label selector operator'
                )
            values = tuple(sorted(set(expression.get("values") or ())))
            found.append(LabelRequirement(expression["key"], operator, values))
        return cls(found)


class _Checks:
    """Checks the requirements of one selector, each distinct key, value and requirement once."""

    def __init__(self) -> None:
        self._keys: set[str] = set()
        self._values: set[str] = set()
        self._known: dict[RawRequirement, LabelRequirement] = {}

    def key(self, key: str) -> None:
        """Raises SelectorError."""
        if key in self._keys:
            return
        if problems := qualified_name(key):
            # The key has no field path in Kubernetes; it prints as <nil>.
            raise SelectorError(str(field_error.invalid("<nil>", key, "; ".join(problems))))
        self._keys.add(key)

    def requirement(self, raw: RawRequirement) -> LabelRequirement:
        """Raises SelectorError with every violation."""
        known = self._known.get(raw)
        if known is None:
            self.key(raw.key)
            known = self._known[raw] = self._new(raw)
        return known

    def _new(self, raw: RawRequirement) -> LabelRequirement:
        operator, values = LabelOperator(raw.operator), raw.values
        if len(values) > 1:
            values = tuple(sorted(set(values)))
        errors: list[FieldError] = []
        if operator in (LabelOperator.GREATER, LabelOperator.LESS):
            errors += [
                field_error.invalid(
                    f"values[{i}]", value, "for 'Gt', 'Lt' operators, the value must be an integer"
                )
                for i, value in enumerate(values)
                if integer(value) is None
            ]
        errors += [
            field_error.invalid(f"values[{i}][{raw.key}]", value, "; ".join(problems))
            for i, value in enumerate(values)
            if value not in self._values and (problems := label_value(value))
        ]
        if errors:
            raise SelectorError(field_error.join(errors))
        self._values.update(values)
        return LabelRequirement(raw.key, operator, values)


def _key(requirement: LabelRequirement) -> str:
    return requirement.key


def _order(requirement: LabelRequirement) -> tuple[str, str, tuple[str, ...]]:
    return requirement.key, requirement.operator, requirement.values


_EVERYTHING = LabelSelector()
