"""Calls of ``format`` with a constant text and a written list, which cel-go checks beforehand.

Values of unknown type are left to the run, as are texts and lists that are not constants.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from proreus.server.cel.functions.formatting import clauses, unformattable
from proreus.server.cel.syntax import Call, Constant, MakeList, MakeMap, Node, Type
from proreus.server.cel.values import EvaluationError

_WHOLE = frozenset({"int", "uint"})
_TEXTS = frozenset({"string", "bytes"})
_DOUBLES = frozenset({"double", "string"})  # of texts, those that stand for no number
_ANY_TEXT = _WHOLE | _TEXTS | {"double", "bool", "null", "list", "map", "type", "timestamp",
                               "duration"}  # fmt: skip
_TYPES = {
    "s": _ANY_TEXT,
    "d": _WHOLE,
    "o": _WHOLE,
    "b": _WHOLE | {"bool"},
    "f": _DOUBLES,
    "e": _DOUBLES,
    "x": _WHOLE | _TEXTS,
    "X": _WHOLE | _TEXTS,
}
_RUNTIME_NAMES = {
    "timestamp": "google.protobuf.Timestamp",
    "duration": "google.protobuf.Duration",
    "null": "null_type",
}


def misfit_formats(call: Call, spelled: Callable[[str], str]) -> Iterator[tuple[Node, str]]:
    """What is wrong, and why: the first clause that does not fit, or values without one.

    ``spelled``: the name of a type in messages.
    """
    text, values = call.target, call.arguments[0] if call.arguments else None
    if not isinstance(text, Constant) or not isinstance(values, MakeList):
        return
    used = 0
    try:
        for clause in clauses(str(text.value), len(values.elements)):
            if not clause.verb:
                continue
            wrong = _misfit(clause.verb, values.elements[used])
            if wrong is not None:
                kind = _RUNTIME_NAMES.get(wrong.type.name) or spelled(wrong.type.name)
                yield wrong, unformattable(clause.verb, kind)
                return
            used += 1
    except EvaluationError as error:
        yield call, str(error)
        return
    if used < len(values.elements):
        counts = f"(expected {used}, got {len(values.elements)})"
        yield call, f"too many arguments supplied to string.format {counts}"


def _misfit(verb: str, value: Node) -> Node | None:
    if not _fits(value.type, _TYPES[verb]):
        return value
    if verb != "s":
        return None
    inner: tuple[Node, ...] = ()
    if isinstance(value, MakeList):
        inner = value.elements
    elif isinstance(value, MakeMap):
        inner = tuple(part for entry in value.entries for part in (entry.key, entry.value))
    return next((found for part in inner if (found := _misfit(verb, part)) is not None), None)


def _fits(kind: Type, kinds: frozenset[str]) -> bool:
    return kind.name in ("dyn", "wrapper") or kind.name in kinds
