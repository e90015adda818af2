"""Checks of constants that cel-go makes after the type check, before an expression runs.

Constants that are a regular expression, a duration or a time are tried; lists and maps must hold
values of one type. Kubernetes' expressions are checked so when they are written, not first when
they meet a value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from proreus.server.cel.format_calls import misfit_formats
from proreus.server.cel.functions.overloads import no_overload, takes
from proreus.server.cel.functions.table import FUNCTIONS
from proreus.server.cel.syntax import (
    Call,
    Constant,
    Identifier,
    MakeList,
    MakeMap,
    Node,
    Type,
    children,
)
from proreus.server.cel.values import EvaluationError, TypeValue
from proreus.server.regular_expressions import expression_error

_PATTERNS = ("matches", "find", "findAll")
_CONVERSIONS = frozenset({"bool", "bytes", "double", "duration", "dyn", "int", "string",
                          "timestamp", "type", "uint"})  # fmt: skip
_KEYS = (bool, int, float, str)
_VARYING = object()
Misfit = tuple[Node, str]  # what is wrong, and why


def misfits(node: Node, spelled: Callable[[str], str]) -> Iterator[Misfit]:
    """``spelled``: the name of a type in messages."""
    if isinstance(node, Call):
        yield from _constant_argument(node)
        yield from _odd_elements(node, spelled)
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


def unusable_constant(node: Node) -> str:
    """Why a constant cannot become part of a program, "" if all can: patterns are compiled and
    constants converted (``int('a')``) while the program is built, the innermost first.
    """
    try:
        _built(node)
    except EvaluationError as error:
        return str(error)
    return ""


def _built(node: Node) -> Any:
    """The value of what is constant. Raises EvaluationError."""
    match node:
        case Constant():
            return node.value
        case Identifier(type=Type(name="type")):
            return TypeValue(node.name)
    parts = [_built(part) for part in children(node)]
    is_constant = all(part is not _VARYING for part in parts)
    match node:
        case Call() if node.function in _PATTERNS and len(parts) > 1:
            if isinstance(parts[1], str) and (why := expression_error(parts[1])):
                raise EvaluationError(why)
        case Call() if node.function in _CONVERSIONS and len(parts) == 1 and is_constant:
            return _converted(node.function, parts[0])
        case MakeList() if is_constant and not node.optional:
            return parts
        case MakeMap() if is_constant and not node.message:
            keys = [key for key in parts[::2] if isinstance(key, _KEYS)]
            return dict(zip(keys, parts[1::2], strict=False))
    return _VARYING


def _converted(function: str, value: Any) -> Any:
    is_taken = takes(function)
    if is_taken is not None and not is_taken(value):
        raise EvaluationError(no_overload(function, [value]))
    return FUNCTIONS[function](value)


def _constant_argument(call: Call) -> Iterator[Misfit]:
    argument = call.arguments[0] if call.arguments else None
    fits = _FITS.get(call.function)
    if call.function == "duration" and argument is not None and argument.type.name == "int":
        yield call, "found no matching overload for 'duration' applied to '(int)'"
        return
    if fits is None or not isinstance(argument, Constant):
        return
    if not fits(argument.value):
        yield argument, f"invalid {call.function} argument"


def _odd_elements(call: Call, spelled: Callable[[str], str]) -> Iterator[Misfit]:
    """Functions of lists whose parameters have the type of the elements, or must be lists."""
    if call.target is None or call.target.type.name != "list":
        return
    inner, kinds = call.target.type.parameters[0], [one.type for one in call.arguments]
    if call.function in ("indexOf", "lastIndexOf"):
        fits = len(kinds) != 1 or _alike(inner, kinds[0])
    else:
        fits = call.function != "flatten" or bool(kinds) or inner.name in ("dyn", "list")
    if not fits:
        found = ", ".join(type_name(kind, spelled) for kind in kinds)
        called = f"{type_name(call.target.type, spelled)}.({found})"
        yield call, f"found no matching overload for '{call.function}' applied to '{called}'"


def _converts(function: str) -> Callable[[str], bool]:
    convert: Callable[[Any], Any] = FUNCTIONS[function]

    def fits(text: str) -> bool:
        try:
            convert(text)
        except (EvaluationError, TypeError):
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
