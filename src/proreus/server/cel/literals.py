"""Checks of constants that cel-go makes after the type check, before an expression runs.

Constants that are a regular expression, a duration or a time are tried; lists and maps must hold
values of one type. Kubernetes' expressions are checked so when they are written, not first when
they meet a value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from proreus.server.cel.format_calls import misfit_formats
from proreus.server.cel.functions.table import FUNCTIONS
from proreus.server.cel.syntax import Call, Constant, MakeList, MakeMap, Node, Type, children, walk
from proreus.server.cel.values import EvaluationError
from proreus.server.regular_expressions import expression_error

_PATTERNS = ("matches", "find", "findAll")
Misfit = tuple[Node, str]  # what is wrong, and why


def misfits(node: Node, spelled: Callable[[str], str]) -> Iterator[Misfit]:
    """``spelled``: the name of a type in messages."""
    if isinstance(node, Call):
        yield from _constant_argument(node)
        if node.function == "format":
            yield from misfit_formats(node, spelled)
            return  # its arguments are a list of anything
    if isinstance(node, MakeList) and not node.optional:
        yield from _mixed(node.elements, spelled)
    elif isinstance(node, MakeMap) and not node.message:
        yield from _mixed(tuple(entry.key for entry in node.entries), spelled)
        if not any(entry.is_optional for entry in node.entries):
            yield from _mixed(tuple(entry.value for entry in node.entries), spelled)
    for child in children(node):
        yield from misfits(child, spelled)


def unusable_pattern(node: Node) -> str:
    """Why a constant pattern cannot be compiled into the program, "" if all can."""
    for part in walk(node):
        if isinstance(part, Call) and part.function in _PATTERNS and len(part.operands) > 1:
            pattern = part.operands[1]
            if isinstance(pattern, Constant) and (why := expression_error(str(pattern.value))):
                return why
    return ""


def _constant_argument(call: Call) -> Iterator[Misfit]:
    argument = call.arguments[0] if call.arguments else None
    fits = _FITS.get(call.function)
    if fits is None or not isinstance(argument, Constant) or not isinstance(argument.value, str):
        return
    if not fits(argument.value):
        yield argument, f"invalid {call.function} argument"


def _converts(function: str) -> Callable[[str], bool]:
    convert: Callable[[Any], Any] = FUNCTIONS[function]

    def fits(text: str) -> bool:
        try:
            convert(text)
        except EvaluationError:
            return False
        return True

    return fits


_FITS: Mapping[str, Callable[[str], bool]] = {
    "duration": _converts("duration"),
    "timestamp": _converts("timestamp"),
    "matches": lambda text: not expression_error(text),
}


def _mixed(values: tuple[Node, ...], spelled: Callable[[str], str]) -> Iterator[Misfit]:
    """``dyn`` fits everything: it also stands for types the checker cannot name."""
    first = values[0].type if values else None
    for value in values:
        if first is not None and not _alike(first, value.type):
            wanted, found = type_name(first, spelled), type_name(value.type, spelled)
            yield value, f"expected type '{wanted}' but found '{found}'"
            return


def _alike(one: Type, other: Type) -> bool:
    if "dyn" in (one.name, other.name):
        return True
    return (
        one.name == other.name
        and len(one.parameters) == len(other.parameters)
        and all(map(_alike, one.parameters, other.parameters))
    )


def type_name(kind: Type, spelled: Callable[[str], str]) -> str:
    name = spelled(kind.name)
    inner = ", ".join(type_name(part, spelled) for part in kind.parameters)
    return f"{name}({inner})" if inner else name
