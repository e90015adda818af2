"""What is said of values that no overload of a function takes, in the words of Kubernetes' engine.

Its operators ask whether the first operand is of a kind that has them at all; other functions look
for an overload and name the types they got. Values of declared types never come here: the checker
refuses them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from proreus.server.cel.functions.opaque import Amount, Cidr, Ip
from proreus.server.cel.functions.operators import NO_OVERLOAD, type_name
from proreus.server.cel.functions.urls import Url
from proreus.server.cel.syntax import Uint
from proreus.server.cel.values import Optional, TypeValue

_TIME, _DURATION = "google.protobuf.Timestamp", "google.protobuf.Duration"
_NUMBERS = frozenset({"int", "uint", "double"})
_SUMMED = _NUMBERS | {_TIME, _DURATION}
_ORDERED = _SUMMED | {"bool", "bytes", "string"}
# Kinds of first operands that operators are for.
_TRAITS = {
    "_+_": _SUMMED | {"bytes", "list", "string"},
    "_-_": _SUMMED,
    "_*_": _NUMBERS,
    "_/_": _NUMBERS,
    "_%_": frozenset({"int", "uint"}),
    "-_": frozenset({"bool", "double", "int", _DURATION}),
    **dict.fromkeys(("_<_", "_<=_", "_>_", "_>=_"), _ORDERED),
    "size": frozenset({"bytes", "list", "map", "string"}),
    "sort": frozenset({"list"}),
    "matches": frozenset({"string"}),
}
# These have methods, which are then asked, and know none of that name.
_RECEIVERS = frozenset({"string", _TIME, _DURATION})
# They look at their operands themselves.
_UNNAMED = frozenset({"!_", "@in", "_[_]", "_[?_]", "_?._", "contains", "startsWith", "endsWith"})
_TAKEN = {
    **dict.fromkeys(
        (
            "isSorted",
            "sum",
            "min",
            "max",
            "sort",
            "slice",
            "flatten",
            "first",
            "last",
            "join",
            "sets.contains",
            "sets.intersects",
            "sets.equivalent",
        ),
        frozenset({"list"}),
    ),
    "bool": frozenset({"bool", "string"}),
    "bytes": frozenset({"bytes", "string"}),
    "double": _NUMBERS | {"string"},
    "duration": frozenset({"string", _DURATION}),
    "int": _SUMMED | {"string"},
    "string": _ORDERED | {"net.IP", "net.CIDR"},
    "timestamp": frozenset({"int", "string", _TIME}),
    "uint": _NUMBERS | {"string"},
}

_ENGINE_NAMES: Mapping[type, str] = {
    bool: "types.Bool", int: "types.Int", Uint: "types.Uint", float: "types.Double",
    str: "types.String", bytes: "types.Bytes", type(None): "types.Null",
    datetime: "types.Timestamp", timedelta: "types.Duration", TypeValue: "*types.Type",
    Optional: "*types.Optional", Ip: "cel.IP", Cidr: "cel.CIDR", Url: "cel.URL",
    Amount: "cel.Quantity",
}  # fmt: skip


def no_overload(function: str, values: Sequence[Any]) -> str:
    if function in _UNNAMED or not values:
        return NO_OVERLOAD
    first = type_name(values[0])
    if function == "flatten":
        return f"{NO_OVERLOAD}: {first}.flatten()"
    if (kinds := _TRAITS.get(function)) is not None:
        is_asked = first in kinds or first in _RECEIVERS
        return NO_OVERLOAD if is_asked else f"{NO_OVERLOAD}: {function}"
    return f"{NO_OVERLOAD}: {function}({', '.join(map(type_name, values))})"


def no_range(value: Any, *, pairs: bool) -> str:
    """Of what a macro goes over that is neither a list nor a map: its name in the engine's code.

    ``pairs``: a macro of two variables asks.
    """
    name = _ENGINE_NAMES.get(value.__class__) or f"cel.{value.__class__.__name__}"
    if pairs:
        return f"unsupported comprehension range type: {name}"
    return f"got '{name}', expected iterable type"


def takes(function: str) -> Callable[[Any], bool] | None:
    """Of a function that converts or is of lists: whether it takes a value first. None of all
    others."""
    kinds = _TAKEN.get(function)
    return None if kinds is None else lambda value: type_name(value) in kinds
