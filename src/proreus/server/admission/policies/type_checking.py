"""Compares the expressions of a validating policy with the types of the objects it is about. Pure.

Expressions run on objects of any type, so a field that no such object has is found only at run
time, and only where it is missing. This finds it beforehand, for the policy's status.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from proreus.api.group_version import GroupVersion, GroupVersionKind, GroupVersionResource
from proreus.api.json_types import Json, JsonObject
from proreus.api.typed import Shape, TypeNode
from proreus.lazy_dataclass import dataclass
from proreus.server.cel.admission import ExpressionInvalid
from proreus.server.cel.names import escaped
from proreus.server.cel.policy import PolicyCompiler
from proreus.server.cel.shapes import Field, ShapeKind, ValueShape

_KINDS_MAX = 10
_WORD = re.compile(r"[A-Za-z_]\w*")
_ANY = ValueShape(ShapeKind.ANY)
_SCALARS = {
    Shape.STRING: ShapeKind.STRING,
    Shape.QUANTITY: ShapeKind.STRING,
    Shape.INTEGER: ShapeKind.INT,
    Shape.NUMBER: ShapeKind.DOUBLE,
    Shape.BOOLEAN: ShapeKind.BOOL,
    Shape.TIME: ShapeKind.TIMESTAMP,
    Shape.MICRO_TIME: ShapeKind.TIMESTAMP,
    Shape.BYTES: ShapeKind.BYTES,
}


@dataclass(frozen=True, slots=True)
class KnownTypes:
    """``kind_of``: what a resource's objects are; ``node_of``: the type of a kind, if known."""

    kind_of: Callable[[GroupVersionResource], GroupVersionKind | None]
    node_of: Callable[[GroupVersionKind], TypeNode | None]


def expression_warnings(spec: Json, types: KnownTypes) -> list[JsonObject]:
    """As ``status.typeChecking.expressionWarnings`` has them."""
    expressions = list(_expressions(spec))
    variables = spec.get("variables") or ()
    texts = [text for _, text in expressions]
    texts += [one.get("expression") or "" for one in variables]
    words = frozenset(word for text in texts for word in _WORD.findall(text))
    params = _params_shape(spec, types, words)
    said: dict[str, list[str]] = {}
    for kind in _kinds(spec, types):
        node = types.node_of(kind)
        if node is None:
            continue
        compiler = PolicyCompiler(
            has_params=params is not None,
            has_variables=True,
            object_shape=_shape(node, words),
            params_shape=params,
        )
        for variable in variables:
            _fault(variable, compiler)
        for where, text in expressions:
            try:
                compiler.anything(text)
            except ExpressionInvalid as error:
                why = str(error).removeprefix("compilation failed: ")
                name = f"{kind.group}/{kind.version}, Kind={kind.kind}"
                said.setdefault(where, []).append(f"{name}: {why}\n")
    return [{"fieldRef": where, "warning": "\n".join(found)} for where, found in said.items()]


def _fault(variable: Json, compiler: PolicyCompiler) -> None:
    """What is wrong with a variable is seen where it is used: it then has any type."""
    try:
        compiler.variable(variable.get("name") or "", variable.get("expression") or "")
    except ExpressionInvalid:
        return


def _expressions(spec: Json) -> Iterator[tuple[str, str]]:
    for index, validation in enumerate(spec.get("validations") or ()):
        for key in ("expression", "messageExpression"):
            if text := validation.get(key):
                yield f"spec.validations[{index}].{key}", text


def _kinds(spec: Json, types: KnownTypes) -> Sequence[GroupVersionKind]:
    """The kinds that rules name; those with a star in group or version name none."""
    found: set[GroupVersionKind] = set()
    for rule in (spec.get("matchConstraints") or {}).get("resourceRules") or ():
        groups, versions = rule.get("apiGroups") or [], rule.get("apiVersions") or []
        if any("*" in name for name in (*groups, *versions)):
            continue
        resources = [name for name in rule.get("resources") or () if not {"*", "/"} & {*name}]
        for group in sorted(groups):
            for version in sorted(versions):
                for resource in sorted(resources):
                    kind = types.kind_of(GroupVersionResource(group, version, resource))
                    if kind is not None and len(found) < _KINDS_MAX:
                        found.add(kind)
    return sorted(found, key=lambda kind: (kind.group, kind.version, kind.kind))


def _params_shape(spec: Json, types: KnownTypes, words: frozenset[str]) -> ValueShape | None:
    if (kind := spec.get("paramKind")) is None:
        return None
    version = GroupVersion.parse(kind.get("apiVersion") or "")
    node = types.node_of(version.kind(kind.get("kind") or ""))
    return None if node is None else _shape(node, words)


def _shape(node: TypeNode, words: frozenset[str], above: tuple[TypeNode, ...] = ()) -> ValueShape:
    """``words``: other fields than these nobody asks for."""
    if node in above:
        return _ANY  # a type that contains itself
    inside = (*above, node)
    match node.shape:
        case Shape.OBJECT:
            declared = node.properties() if node.properties is not None else {}
            fields = {
                spelled: Field(name, _shape(child, words, inside))
                for name, child in declared.items()
                if (spelled := escaped(name)) in words and spelled is not None
            }
            return ValueShape(ShapeKind.OBJECT, fields=fields)
        case Shape.MAP if node.element is not None:
            return ValueShape(ShapeKind.MAP, element=_shape(node.element(), words, inside))
        case Shape.LIST if node.element is not None:
            return ValueShape(ShapeKind.LIST, element=_shape(node.element(), words, inside))
        case shape if shape in _SCALARS:
            return ValueShape(_SCALARS[shape])
        case _:
            return _ANY
