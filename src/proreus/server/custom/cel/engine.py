"""The CEL library behind two calls: compile an expression, evaluate it on plain values.

Only this file imports it; it is the extra ``cel``.
"""

from __future__ import annotations

import re
from functools import lru_cache
from importlib.util import find_spec
from typing import Any

from proreus.server.custom.cel.functions import extension

_OLD_SELF = re.compile(r"\boldSelf\b")
_AS_OPTIONAL = "(hasOld ? optional.of(old) : optional.none())"
_CODE = re.compile(r"^[A-Z_]+: (?:ERROR: )?")
_MISSING_KEY = re.compile(r'Key not found in map : "?(.*?)"?$')
_INDEX = re.compile(r"Index error: index=(-?\d+)")
_OVERLOAD = re.compile(r"No matching overloads found : (\S+)\(")


class CelError(Exception):
    """An expression that cannot be compiled, or failed on a value."""


def is_available() -> bool:
    return find_spec("cel_expr_python") is not None


class Program:
    __slots__ = ("_expression", "_optional")

    def __init__(self, expression: Any, *, optional_old: bool) -> None:
        self._expression = expression
        self._optional = optional_old

    def evaluate(self, value: Any, old: Any, *, has_old: bool) -> Any:
        """Raises CelError."""
        data: dict[str, Any] = {"self": value, "oldSelf": old}
        if self._optional:
            data |= {"old": old, "hasOld": has_old}
        try:
            result = self._expression.eval(data=data)
            shown = result.plain_value()
            failed = result.type().name() == "ERROR"
        except Exception as error:  # the library raises whatever its C++ side says
            raise CelError(_worded(str(error))) from error
        if failed:
            raise CelError(_worded(str(shown)))
        return shown


@lru_cache(maxsize=4096)
def compile_rule(text: str, *, optional_old: bool = False) -> Program:
    """Raises CelError."""
    expression = _OLD_SELF.sub(_AS_OPTIONAL, text) if optional_old else text
    try:
        return Program(_environment().compile(expression), optional_old=optional_old)
    except Exception as error:  # as above
        raise CelError(_worded(str(error))) from error


@lru_cache(maxsize=1)
def _environment() -> Any:
    from cel_expr_python import cel
    from cel_expr_python.ext import ext_math, ext_optional, ext_strings

    anything = cel.Type.DYN
    return cel.NewEnv(
        variables={
            "self": anything,
            "oldSelf": anything,
            "old": anything,
            "hasOld": cel.Type.BOOL,
        },
        extensions=[
            ext_optional.ExtOptional(),
            ext_strings.ExtStrings(),
            ext_math.ExtMath(),
            extension(cel),
        ],
    )


def _worded(text: str) -> str:
    """As cel-go says it."""
    text = _CODE.sub("", text).removesuffix(" [INVALID_ARGUMENT]")
    if found := _MISSING_KEY.search(text):
        return f"no such key: {found[1]}"
    if found := _INDEX.search(text):
        return f"index out of bounds: {found[1]}"
    if found := _OVERLOAD.search(text):
        return f"no such overload: {found[1]}"
    return "division by zero" if text == "divide by zero" else text
