"""The expressions of admission: their variables, and compilation with Kubernetes' errors.

Match conditions of webhooks and policies, and all expressions of policies, see the same variables.
Objects have no declared type: any field may be asked for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

from proreus.lazy_dataclass import dataclass
from proreus.server.cel.checker import Checker, CheckError
from proreus.server.cel.evaluate import Program
from proreus.server.cel.literals import unusable_constant
from proreus.server.cel.shapes import Field, ShapeKind, ValueShape
from proreus.server.cel.signatures import AUTHORIZER, RESOURCE_CHECK
from proreus.server.cel.syntax import Node, Type
from proreus.server.cel.wording import worded

PARAMS, REQUEST_RESOURCE = "params", "authorizer.requestResource"
CALL_LIMIT = 1_000_000
CONDITIONS_LIMIT = 2_500_000  # of all match conditions of a webhook or policy, together
POLICY_LIMIT = 10_000_000
# As cel-go's Type.String() has them, which is not how its checker's messages do.
_GO_NAMES = {
    "timestamp": "google.protobuf.Timestamp",
    "duration": "google.protobuf.Duration",
    "null": "null_type",
}
_STRING = ValueShape(ShapeKind.STRING)
_TIME = ValueShape(ShapeKind.TIMESTAMP)  # declared so, and yet a text when it is read
_INT = ValueShape(ShapeKind.INT)
_ANY = ValueShape(ShapeKind.ANY)
_STRINGS = ValueShape(ShapeKind.LIST, element=_STRING)
_LABELS = ValueShape(ShapeKind.MAP, element=_STRING)


class ExpressionInvalid(Exception):
    """An expression that cannot be used. ``is_internal``: it is well formed, and cannot be run."""

    def __init__(self, why: str, *, is_internal: bool = False) -> None:
        super().__init__(why)
        self.is_internal = is_internal


@dataclass(frozen=True, slots=True)
class CompiledExpression:
    text: str
    program: Program
    type: Type


def _object(type_name: str, fields: Mapping[str, ValueShape]) -> ValueShape:
    return ValueShape(
        ShapeKind.OBJECT,
        fields={name: Field(name, shape) for name, shape in fields.items()},
        is_converted=any(shape.is_converted for shape in fields.values()),
        type_name=type_name,
    )


def _list_of(element: ValueShape) -> ValueShape:
    return ValueShape(ShapeKind.LIST, element=element, is_converted=element.is_converted)


_KIND = _object(
    "kubernetes.GroupVersionKind", {"group": _STRING, "version": _STRING, "kind": _STRING}
)
_RESOURCE = _object(
    "kubernetes.GroupVersionResource", {"group": _STRING, "version": _STRING, "resource": _STRING}
)
_USER = _object(
    "kubernetes.UserInfo",
    {
        "username": _STRING,
        "uid": _STRING,
        "groups": _STRINGS,
        "extra": ValueShape(ShapeKind.MAP, element=_STRINGS),
    },
)
REQUEST = _object(
    "kubernetes.AdmissionRequest",
    {
        "kind": _KIND,
        "resource": _RESOURCE,
        "subResource": _STRING,
        "requestKind": _KIND,
        "requestResource": _RESOURCE,
        "requestSubResource": _STRING,
        "name": _STRING,
        "namespace": _STRING,
        "operation": _STRING,
        "userInfo": _USER,
        "dryRun": ValueShape(ShapeKind.BOOL),
        "options": _ANY,
    },
)
_CONDITION = _object(
    "kubernetes.NamespaceCondition",
    {
        "status": _STRING,
        "type": _STRING,
        "lastTransitionTime": _TIME,
        "reason": _STRING,
        "message": _STRING,
    },
)
NAMESPACE = _object(
    "kubernetes.Namespace",
    {
        "metadata": _object(
            "kubernetes.NamespaceMetadata",
            {
                "name": _STRING,
                "generateName": _STRING,
                "namespace": _STRING,
                "labels": _LABELS,
                "annotations": _LABELS,
                "UID": _STRING,
                "creationTimestamp": _TIME,
                "deletionGracePeriodSeconds": _INT,
                "deletionTimestamp": _TIME,
                "generation": _INT,
                "resourceVersion": _STRING,
                "finalizers": _STRINGS,
            },
        ),
        "spec": _object("kubernetes.NamespaceSpec", {"finalizers": _STRINGS}),
        "status": _object(
            "kubernetes.NamespaceStatus", {"conditions": _list_of(_CONDITION), "phase": _STRING}
        ),
    },
)
_BASE: Mapping[str, ValueShape | None] = {
    "object": None,
    "oldObject": None,
    "namespaceObject": NAMESPACE,
    "request": REQUEST,
}
_AUTHORIZERS: Mapping[str, ValueShape | None] = {
    "authorizer": ValueShape(ShapeKind.OPAQUE, type_name=AUTHORIZER),
    REQUEST_RESOURCE: ValueShape(ShapeKind.OPAQUE, type_name=RESOURCE_CHECK),
}


def admission_variables(
    *,
    has_params: bool = False,
    has_authorizer: bool = True,
    more: Mapping[str, ValueShape | None] | None = None,
) -> Mapping[str, ValueShape | None]:
    """The variables of an expression in the order in which its program takes their values.

    ``more``: those of a policy's own. Who may not ask the authorizer takes as many values fewer.
    """
    params: dict[str, ValueShape | None] = {PARAMS: None} if has_params else {}
    authorizers = _AUTHORIZERS if has_authorizer else {}
    return {**_BASE, **params, **(more or {}), **authorizers}


@lru_cache(maxsize=2)
def admission_checker(*, has_params: bool = False) -> Checker:
    return Checker(admission_variables(has_params=has_params))


def compile_expression(
    checker: Checker, text: str, results: Sequence[str] = ("bool",)
) -> CompiledExpression:
    """``results``: the types it may have, as ``type_text`` spells them; none for any.

    Raises ExpressionInvalid.
    """
    node = checked_expression(checker, text)
    if results and (found := type_text(node.type)) not in results:
        wanted = results[0] if len(results) == 1 else f"one of [{' '.join(results)}]"
        raise ExpressionInvalid(f"must evaluate to {wanted} but got {found}")
    refuse_unusable(node)
    return CompiledExpression(text, Program(node, checker), node.type)


def checked_expression(checker: Checker, text: str) -> Node:
    """Raises ExpressionInvalid."""
    try:
        return checker.check(text)
    except CheckError as error:
        raise ExpressionInvalid(f"compilation failed: {error}") from error


def refuse_unusable(node: Node) -> None:
    """Raises ExpressionInvalid for what is of a fitting type and no program can be made of."""
    if why := unusable_constant(node):
        raise ExpressionInvalid(f"program instantiation failed: {why}", is_internal=True)


def type_text(kind: Type) -> str:
    """As Go prints the type."""
    name = _GO_NAMES.get(kind.name) or worded(kind.name)
    inner = ", ".join(map(type_text, kind.parameters))
    return f"{name}({inner})" if inner else name
