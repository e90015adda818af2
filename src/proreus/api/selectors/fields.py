r"""Field selectors: ``spec.nodeName=n1,status.phase!=Failed``.

Terms joined by commas, equality only. In a value ``\``, ``,`` and ``=`` are written with a
backslash in front. Empty terms are skipped; contradicting terms match nothing. Which fields exist
is the kind's business (``Resource.selectable``), so parsing takes any name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from proreus.api.selectors.errors import SelectorError

_OPERATORS = ("!=", "==", "=")  # the order in which a term is searched


@dataclass(frozen=True, slots=True)
class Requirement:
    field: str
    operator: str  # "=" or "!="
    value: str

    def __str__(self) -> str:
        return f"{self.field}{self.operator}{_escape(self.value)}"


class FieldSelector:
    """All requirements must hold; none means everything. A value: comparable and hashable."""

    __slots__ = ("matches", "requirements")

    matches: Callable[[Mapping[str, str]], bool]
    requirements: tuple[Requirement, ...]

    def __init__(self, requirements: Iterable[Requirement] = ()) -> None:
        self.requirements = tuple(sorted(requirements, key=str))
        self.matches = _compile(self.requirements)

    @classmethod
    def everything(cls) -> FieldSelector:
        return _EVERYTHING

    @classmethod
    def parse(cls, text: str) -> FieldSelector:
        """Read the query form. Raises SelectorError."""
        terms = sorted(term for term in _terms(text) if term)
        return cls(_requirement(term, text) for term in terms) if terms else _EVERYTHING

    @classmethod
    def equal(cls, field: str, value: str) -> FieldSelector:
        return cls((Requirement(field, "=", value),))

    @property
    def is_empty(self) -> bool:
        return not self.requirements

    def pinned(self, field: str) -> str | None:
        """The one value the field must have, None if it is free or pinned to two values."""
        values = {r.value for r in self.requirements if r.field == field and r.operator == "="}
        return values.pop() if len(values) == 1 else None

    def renamed(self, names: Mapping[str, str]) -> FieldSelector:
        """The same selector with fields called by their other name."""
        return FieldSelector(
            Requirement(names.get(r.field, r.field), r.operator, r.value) for r in self.requirements
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FieldSelector) and self.requirements == other.requirements

    def __hash__(self) -> int:
        return hash(self.requirements)

    def __str__(self) -> str:
        return ",".join(str(requirement) for requirement in self.requirements)

    def __repr__(self) -> str:
        return f"<FieldSelector {self or 'everything'}>"


def _compile(requirements: tuple[Requirement, ...]) -> Callable[[Mapping[str, str]], bool]:
    if not requirements:
        return lambda _: True
    wanted = [(r.field, r.value) for r in requirements if r.operator == "="]
    unwanted = [(r.field, r.value) for r in requirements if r.operator == "!="]
    if len(wanted) == 1 and not unwanted:
        ((field, value),) = wanted
        return lambda fields: fields.get(field, "") == value
    return lambda fields: (
        all(fields.get(f, "") == v for f, v in wanted)
        and all(fields.get(f, "") != v for f, v in unwanted)
    )


def _terms(text: str) -> list[str]:
    terms, start, position = [], 0, 0
    while position < len(text):
        if text[position] == "\\":
            position += 1
        elif text[position] == ",":
            terms.append(text[start:position])
            start = position + 1
        position += 1
    return [*terms, text[start:]]


def _requirement(term: str, whole: str) -> Requirement:
    for position in range(len(term)):
        for operator in _OPERATORS:
            if term.startswith(operator, position):
                value = _unescape(term[position + len(operator) :])
                return Requirement(term[:position], "=" if operator == "==" else operator, value)
    raise SelectorError(f"invalid selector: '{whole}'; can't understand '{term}'")


def _unescape(text: str) -> str:
    characters = iter(text)
    out: list[str] = []
    for character in characters:
        if character == "\\":
            escaped = next(characters, "")
            if escaped not in ("\\", ",", "="):
                raise SelectorError(f"invalid field selector: invalid escape sequence: \\{escaped}")
            out.append(escaped)
        elif character in ",=":
            raise SelectorError(
                f"invalid field selector: unescaped character in value: {ord(character)}"
            )
        else:
            out.append(character)
    return "".join(out)


def _escape(value: str) -> str:
    return value.replace("\\", "\\\\").replace(",", "\\,").replace("=", "\\=")


_EVERYTHING = FieldSelector()
