"""The CEL library behind two calls: compile an expression, evaluate it on plain values.

Only this file imports it; it is the extra ``cel``.
"""

from __future__ import annotations

import re
from functools import lru_cache
from importlib.util import find_spec
from typing import Any

_OLD_SELF = re.compile(r"\boldSelf\b")
_AS_OPTIONAL = "(hasOld ? optional.of(old) : optional.none())"
_MISSING_KEY = re.compile(r"(?i)key not found in map\s*:\s*\"?([^\"]*?)\"?$")
_INDEX = re.compile(r"(?i)index\D*out of bounds\D*(-?\d+)?.*?(-?\d+)?")


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
            failed = result.type().name() == "*error*"
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
        raise CelError(str(error)) from error


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
        extensions=[ext_optional.ExtOptional(), ext_strings.ExtStrings(), ext_math.ExtMath()],
    )


def _worded(text: str) -> str:
    """As cel-go says it."""
    text = text.removeprefix("NOT_FOUND: ").removeprefix("INVALID_ARGUMENT: ")
    if found := _MISSING_KEY.search(text):
        return f"no such key: {found[1]}"
    if "out of bounds" in text.lower():
        number = re.search(r"-?\d+", text)
        return f"index out of bounds: {number[0]}" if number else text
    return text
