r"""Field selectors: ``spec.nodeName=n1,status.phase!=Failed``.

Terms joined by commas, equality only. In a value ``\``, ``,`` and ``=`` are written with a
backslash in front. Empty terms are skipped; contradicting terms match nothing. Which fields exist
is the kind's business (``Resource.selectable``), so parsing takes any name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping

import msgspec

from proreus.api.selectors.errors import SelectorError
from proreus.api.selectors.selector import Selector

_OPERATOR = re.compile("!=|==?")
_WITH_MEANING = re.compile(r"[\\,=]")


class FieldRequirement(msgspec.Struct, frozen=True, gc=False):
    field: str
    operator: str  # "=" or "!="
    value: str

    def __str__(self) -> str:
        return f"{self.field}{self.operator}{_escape(self.value)}"


class FieldSelector(Selector[FieldRequirement]):
    """All requirements must hold; none means everything. A value: comparable and hashable."""

    __slots__ = ("matches",)

    matches: Callable[[Mapping[str, str]], bool]

    def __init__(self, requirements: Iterable[FieldRequirement] = ()) -> None:
        self.requirements = tuple(sorted(set(requirements), key=_order))
        self.matches = _compile(self.requirements)

    @classmethod
    def everything(cls) -> FieldSelector:
        return _EVERYTHING

    @classmethod
    def parse(cls, text: str) -> FieldSelector:
        """Read the query form. Raises SelectorError."""
        terms = sorted({term for term in _terms(text) if term})
        found = [_requirement(term, text) for term in terms]
        # A term of an operator alone asks for nothing, as no term does.
        said = [requirement for requirement in found if requirement.field or requirement.value]
        return cls(said) if said else _EVERYTHING

    @classmethod
    def equal(cls, field: str, value: str) -> FieldSelector:
        return cls((FieldRequirement(field, "=", value),))

    def pinned(self, field: str) -> str | None:
        """The one value the field must have, None if it is free or pinned to two values."""
        values = {r.value for r in self.requirements if r.field == field and r.operator == "="}
        return values.pop() if len(values) == 1 else None

    def renamed(self, names: Mapping[str, str]) -> FieldSelector:
        """The same selector with fields called by their other name."""
        return FieldSelector(
            FieldRequirement(names.get(r.field, r.field), r.operator, r.value)
            for r in self.requirements
        )


def _order(requirement: FieldRequirement) -> tuple[str, str, str]:
    return requirement.field, requirement.operator, requirement.value


def _compile(requirements: tuple[FieldRequirement, ...]) -> Callable[[Mapping[str, str]], bool]:
    """The test of all requirements; its cost grows with the number of fields, not of terms.

    A field that an object does not have is empty.
    """
    wanted: dict[str, str] = {}
    unwanted: dict[str, set[str]] = {}
    for requirement in requirements:
        field, value = requirement.field, requirement.value
        if requirement.operator == "!=":
            unwanted.setdefault(field, set()).add(value)
        elif wanted.setdefault(field, value) != value:
            return lambda _: False
    if len(wanted) == 1 and not unwanted:
        ((only, pinned),) = wanted.items()
        return lambda fields: fields.get(only, "") == pinned
    if not wanted and not unwanted:
        return lambda _: True
    pins, refused = tuple(wanted.items()), tuple(unwanted.items())
    return lambda fields: (
        all(fields.get(field, "") == value for field, value in pins)
        and all(fields.get(field, "") not in values for field, values in refused)
    )


def _terms(text: str) -> list[str]:
    if "\\" not in text:
        return text.split(",")
    terms, start, position = [], 0, 0
    while position < len(text):
        if text[position] == "\\":
            position += 1
        elif text[position] == ",":
            terms.append(text[start:position])
            start = position + 1
        position += 1
    return [*terms, text[start:]]


def _requirement(term: str, whole: str) -> FieldRequirement:
    found = _OPERATOR.search(term)
    if found is None:
        raise SelectorError(f"invalid selector: '{whole}'; can't understand '{term}'")
    operator = "!=" if found.group() == "!=" else "="
    return FieldRequirement(term[: found.start()], operator, _unescape(term[found.end() :]))


def _unescape(text: str) -> str:
    if not _WITH_MEANING.search(text):
        return text
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
