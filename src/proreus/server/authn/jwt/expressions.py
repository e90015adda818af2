"""Expressions of an authentication configuration: about the claims of a token, and about the user.

Types of claims are not known before there is a token, so that of those only conditions are checked
for what they evaluate to.
"""

from __future__ import annotations

from functools import lru_cache

from proreus.server.cel import WITHOUT_CEL
from proreus.server.cel.admission import (
    CompiledExpression,
    ExpressionInvalid,
    checked_expression,
    refuse_unusable,
)
from proreus.server.cel.checker import Checker, is_available
from proreus.server.cel.evaluate import Program
from proreus.server.cel.shapes import Field, ShapeKind, ValueShape
from proreus.server.cel.syntax import Call, Constant, Identifier, Node, Select, walk

_TEXT = ValueShape(ShapeKind.STRING)
_TEXTS = ValueShape(ShapeKind.LIST, element=_TEXT)
_CLAIMS = ValueShape(ShapeKind.MAP, element=ValueShape(ShapeKind.ANY))
_USER = ValueShape(
    ShapeKind.OBJECT,
    fields={
        "username": Field("username", _TEXT),
        "uid": Field("uid", _TEXT),
        "groups": Field("groups", _TEXTS),
        "extra": Field("extra", ValueShape(ShapeKind.MAP, element=_TEXTS)),
    },
    type_name="kubernetes.UserInfo",
)


class ClaimsExpression:
    """A compiled expression, and which claims it is known to look at."""

    def __init__(self, text: str, *, is_condition: bool = False) -> None:
        """Raises ExpressionInvalid."""
        node = _checked(_claims_checker(), text, is_condition=is_condition)
        self.compiled = CompiledExpression(text, Program(node, _claims_checker()), node.type)
        self._node = node

    def uses(self, claim: str) -> bool:
        return any(_selects(part, claim) for part in walk(self._node))


def user_condition(text: str) -> CompiledExpression:
    """Raises ExpressionInvalid."""
    node = _checked(_user_checker(), text, is_condition=True)
    return CompiledExpression(text, Program(node, _user_checker()), node.type)


def _checked(checker: Checker, text: str, *, is_condition: bool) -> Node:
    node = checked_expression(checker, text)
    if is_condition and node.type.name != "bool":
        raise ExpressionInvalid("must evaluate to bool")
    refuse_unusable(node)
    return node


def _selects(node: Node, claim: str) -> bool:
    match node:
        case Select(operand=Identifier(name="claims")):
            return node.field == claim
        case Call(function="_?._", arguments=(Identifier(name="claims"), Constant(value=field))):
            return bool(field == claim)
        case _:
            return False


@lru_cache(maxsize=1)
def _claims_checker() -> Checker:
    return _checker("claims", _CLAIMS)


@lru_cache(maxsize=1)
def _user_checker() -> Checker:
    return _checker("user", _USER)


def _checker(name: str, shape: ValueShape) -> Checker:
    if not is_available():
        raise ExpressionInvalid(WITHOUT_CEL)
    return Checker({name: shape})
