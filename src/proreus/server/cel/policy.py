"""The expressions of one admission policy: variables, which build on each other, and the rest.

Kubernetes' rules of what sees what: variables see those before them and everything else sees them
all; messages cannot ask the authorizer; only mutations make objects. Compiling takes about two
milliseconds for each variable and each mutation, and one for everything else.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from proreus.server.cel.admission import (
    CompiledExpression,
    admission_variables,
    compile_expression,
)
from proreus.server.cel.checker import Checker
from proreus.server.cel.shapes import Field, ShapeKind, ValueShape
from proreus.server.cel.syntax import Type

VARIABLES, _TYPE_NAME = "variables", "kubernetes.variables"
_ANY = ValueShape(ShapeKind.ANY)
_KINDS = {
    "bool": ShapeKind.BOOL,
    "int": ShapeKind.INT,
    "double": ShapeKind.DOUBLE,
    "string": ShapeKind.STRING,
    "bytes": ShapeKind.BYTES,
    "timestamp": ShapeKind.TIMESTAMP,
    "duration": ShapeKind.DURATION,
}


class PolicyCompiler:
    """Compiles the expressions of one policy in their order. All methods raise ExpressionInvalid.

    ``has_variables``: whether the policy declares any; without, the name means nothing. ``object``
    and ``params``: their types, where they are known (type checking).
    """

    def __init__(
        self,
        *,
        has_params: bool,
        has_variables: bool,
        object_shape: ValueShape | None = None,
        params_shape: ValueShape | None = None,
    ) -> None:
        self._has_params = has_params
        self._variables: dict[str, ValueShape] | None = {} if has_variables else None
        self._object = object_shape
        self._params = params_shape
        self._checkers: dict[bool, Checker] = {}  # by whether there is an authorizer

    def variable(self, name: str, text: str) -> CompiledExpression:
        """From now on expressions see the variable; if it is wrong, as one of any type."""
        assert self._variables is not None, "the policy was said to have no variables"
        kind = _ANY
        try:
            compiled = compile_expression(self._checker(), text, ())
            kind = _shape(compiled.type)
        finally:
            self._variables[name] = kind
            self._checkers.clear()
        return compiled

    def condition(self, text: str) -> CompiledExpression:
        return compile_expression(self._checker(), text, ("bool",))

    def message(self, text: str) -> CompiledExpression:
        return compile_expression(self._checker(has_authorizer=False), text, ("string",))

    def annotation(self, text: str) -> CompiledExpression:
        return compile_expression(self._checker(), text, ("string", "null_type"))

    def anything(self, text: str) -> CompiledExpression:
        return compile_expression(self._checker(), text, ())

    def mutation(self, text: str, result: str) -> CompiledExpression:
        """``result``: the type of what it makes, as Go prints it."""
        checker = Checker(self._names(), making=text)
        return compile_expression(checker, text, (result,))

    def _checker(self, *, has_authorizer: bool = True) -> Checker:
        if self._variables is None and self._object is None and self._params is None:
            return _plain_checker(has_params=self._has_params, has_authorizer=has_authorizer)
        found = self._checkers.get(has_authorizer)
        if found is None:
            found = Checker(self._names(has_authorizer=has_authorizer))
            self._checkers[has_authorizer] = found
        return found

    def _names(self, *, has_authorizer: bool = True) -> Mapping[str, ValueShape | None]:
        more: dict[str, ValueShape | None] = {}
        if self._variables is not None:
            fields = {name: Field(name, shape) for name, shape in self._variables.items()}
            more[VARIABLES] = ValueShape(ShapeKind.OBJECT, fields=fields, type_name=_TYPE_NAME)
        names = dict(
            admission_variables(
                has_params=self._has_params, has_authorizer=has_authorizer, more=more
            )
        )
        if self._object is not None:
            names["object"] = names["oldObject"] = self._object
        if self._params is not None and self._has_params:
            names["params"] = self._params
        return names


@lru_cache(maxsize=4)
def _plain_checker(*, has_params: bool, has_authorizer: bool) -> Checker:
    return Checker(admission_variables(has_params=has_params, has_authorizer=has_authorizer))


def _shape(kind: Type) -> ValueShape:
    """The type of a variable; what is neither a scalar, list or map counts as of any type."""
    if kind.name == "list" and kind.parameters:
        return ValueShape(ShapeKind.LIST, element=_shape(kind.parameters[0]))
    if kind.name == "map" and len(kind.parameters) == 2 and kind.parameters[0].name == "string":
        return ValueShape(ShapeKind.MAP, element=_shape(kind.parameters[1]))
    found = _KINDS.get(kind.name)
    return _ANY if found is None else ValueShape(found)
