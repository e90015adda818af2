"""Objects that expressions make: ``Object{spec: Object.spec{replicas: 1}}`` and ``JSONPatch{…}``.

Only the expressions of mutating policies make any. A type is named after the path of its field and
has whatever fields are asked of it, all of any type; whether types stand where their names say is
seen when the object is there. The checker's library wants types declared, each under a name without
dots: ``Spelling`` gives every type that a text mentions a name of the same length, so that what is
said of a place in the one text is true of the other.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import product
from typing import Any

from proreus.lazy_dataclass import dataclass

ROOT, PATCH = "Object", "JSONPatch"
PATCH_TEXTS = ("op", "path", "from")
PATCH_VALUE = "value"
_STRING = r"""[rRbB]*(?:\"{3}.*?\"{3}|'{3}.*?'{3}|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')"""
_TOKEN = re.compile(
    rf"(?s:(?P<skipped>{_STRING}|//[^\n]*))"
    rf"|(?<![\w.])(?P<type>{ROOT}(?:\s*\.\s*[A-Za-z_]\w*)+)(?P<gap>\s*)(?=\{{)"
)
_GAP = re.compile(r"\s+")
_WORD = re.compile(r"\w+")


class MadeObject(dict[str, Any]):
    """An object that an expression made, with the name of its type."""

    __slots__ = ("type_name",)

    def __init__(self, type_name: str, fields: Mapping[str, Any]) -> None:
        super().__init__(fields)
        self.type_name = type_name

    @property
    def cel_type(self) -> str:
        return self.type_name


@dataclass(frozen=True, slots=True)
class Spelling:
    """``text`` is the expression as the library reads it; ``types`` the names in it of the types
    that have others, both ways of saying them."""

    text: str
    types: Mapping[str, str]

    @classmethod
    def of(cls, text: str) -> Spelling:
        spelled: dict[str, str] = {}

        def replaced(found: re.Match[str]) -> str:
            if found["type"] is None:
                return found[0]
            name = _GAP.sub("", found["type"])
            if name not in spelled:
                spelled[name] = next(_free_names(name, text, spelled))
            return spelled[name].ljust(len(found[0]))

        changed = _TOKEN.sub(replaced, text)
        return cls(changed, {made: name for name, made in spelled.items()})

    def restored(self, message: str) -> str:
        """What is said of the text, in the words of the expression."""
        return _WORD.sub(lambda found: self.types.get(found[0], found[0]), message)


def _free_names(name: str, text: str, taken: Mapping[str, str]) -> Iterator[str]:
    """Names of the same length that mean nothing else."""
    parts = name.split(".")
    for marks in product("_0123456789abcdefghij", repeat=len(parts) - 1):
        made = parts[0] + "".join(map("".join, zip(marks, parts[1:], strict=True)))
        if made not in text and made not in taken.values():
            yield made


def misnamed(value: Any, expected: str | None = None) -> Iterator[str]:
    """Objects whose type is not named after the fields above it, in Kubernetes' words."""
    if isinstance(value, MadeObject):
        wanted = value.type_name if expected is None else expected
        if value.type_name != wanted:
            yield (
                f'unexpected type name "{value.type_name}", expected "{wanted}", which matches '
                "field name path from root Object type"
            )
        for name, field in value.items():
            yield from misnamed(field, f"{wanted}.{name}")
    elif isinstance(value, dict):
        for item in value.values():
            yield from misnamed(item, expected)
    elif isinstance(value, list):
        for item in value:
            yield from misnamed(item, expected)
