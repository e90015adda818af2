"""Evaluates integer expressions: those of ``$((…))`` and of ``expr``. Pure.

Products come before sums, sums before a comparison, each from the left; a comparison is 1 or 0.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping, Sequence

from proreus.cluster.kubelet.runtimes.simulated.shell_syntax import NUMBER, UnsupportedSyntax

_DEPTH_MAX = 20
_BITS = 63
_LEVELS: tuple[Mapping[str, Callable[[int, int], int]], ...] = (
    {
        "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
        "=": operator.eq, "==": operator.eq, "!=": operator.ne,
    },
    {"+": operator.add, "-": operator.sub},
    {
        "*": operator.mul,
        "/": lambda one, other: _truncated(one, other),
        "%": lambda one, other: one - other * _truncated(one, other),
    },
)  # fmt: skip


def evaluate(tokens: Sequence[str]) -> int:
    """Raises ``UnsupportedSyntax``, also for a division by zero."""
    value, at = _operation(tokens, 0, level=0, depth=0)
    if at != len(tokens):
        raise UnsupportedSyntax
    return value


def _operation(tokens: Sequence[str], at: int, *, level: int, depth: int) -> tuple[int, int]:
    """The value of what begins at ``at``, and where it ends."""
    if level == len(_LEVELS):
        return _operand(tokens, at, depth)
    operators = _LEVELS[level]
    value, at = _operation(tokens, at, level=level + 1, depth=depth)
    while at < len(tokens) and tokens[at] in operators:
        other, end = _operation(tokens, at + 1, level=level + 1, depth=depth)
        value, at = int(operators[tokens[at]](value, other)), end
        if value.bit_length() > _BITS:
            raise UnsupportedSyntax  # shells differ in how they overflow
        if level == 0:
            break  # of several comparisons, C and expr do not begin with the same one
    return value, at


def _operand(tokens: Sequence[str], at: int, depth: int) -> tuple[int, int]:
    if at >= len(tokens) or depth > _DEPTH_MAX:
        raise UnsupportedSyntax
    if tokens[at] == "(":
        value, at = _operation(tokens, at + 1, level=0, depth=depth + 1)
        if tokens[at : at + 1] != [")"]:
            raise UnsupportedSyntax
        return value, at + 1
    if not NUMBER.fullmatch(tokens[at]) or re.match(r"[+-]?0\d", tokens[at]):  # octal for some
        raise UnsupportedSyntax
    return int(tokens[at]), at + 1


def _truncated(one: int, other: int) -> int:
    """The quotient towards zero, as in C; Python's goes down."""
    if other == 0:
        raise UnsupportedSyntax
    quotient = abs(one) // abs(other)
    return quotient if (one < 0) == (other < 0) else -quotient
