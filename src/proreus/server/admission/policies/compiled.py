"""A policy's expressions as programs, made once per policy.

One that does not compile (an older server stored it, or it is written in a language that this one
does not speak) stays in its place and fails whenever it is evaluated.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from proreus.api.json_types import Json
from proreus.lazy_dataclass import dataclass
from proreus.server.admission.expressions import MatchCondition
from proreus.server.cel import WITHOUT_CEL
from proreus.server.cel.admission import CompiledExpression, ExpressionInvalid
from proreus.server.cel.evaluate import Program
from proreus.server.cel.policy import PolicyCompiler

APPLY, JSON_PATCH = "ApplyConfiguration", "JSONPatch"
_PATCHES = {APPLY: ("applyConfiguration", "Object"), JSON_PATCH: ("jsonPatch", "list(JSONPatch)")}


@dataclass(frozen=True, slots=True)
class PolicyExpression:
    """``error``: why there is no program."""

    text: str
    program: Program | None
    error: str = ""


@dataclass(frozen=True, slots=True)
class PolicyValidation:
    expression: PolicyExpression
    message: str
    message_expression: PolicyExpression | None
    reason: str


@dataclass(frozen=True, slots=True)
class AuditAnnotation:
    key: str
    value: PolicyExpression


@dataclass(frozen=True, slots=True)
class PolicyMutation:
    patch_type: str
    expression: PolicyExpression


@dataclass(frozen=True, slots=True)
class CompiledPolicy:
    """``variables`` by name: of two with one name the later one holds, as in Kubernetes."""

    has_params: bool
    conditions: tuple[MatchCondition, ...]
    variables: Mapping[str, PolicyExpression]
    validations: tuple[PolicyValidation, ...] = ()
    annotations: tuple[AuditAnnotation, ...] = ()
    mutations: tuple[PolicyMutation, ...] = ()

    @classmethod
    def of(cls, spec: Json) -> CompiledPolicy:
        has_params = spec.get("paramKind") is not None
        variables = spec.get("variables") or ()
        compiler = PolicyCompiler(has_params=has_params, has_variables=bool(variables))
        return cls(
            has_params,
            MatchCondition.all_of(spec.get("matchConditions"), has_params=has_params),
            {_text(one, "name"): _variable(one, compiler) for one in variables},
            tuple(_validation(one, compiler) for one in spec.get("validations") or ()),
            tuple(
                AuditAnnotation(
                    _text(one, "key"),
                    _tried(_text(one, "valueExpression").strip(), compiler.annotation),
                )
                for one in spec.get("auditAnnotations") or ()
            ),
            tuple(_mutation(one, compiler) for one in spec.get("mutations") or ()),
        )


def _variable(variable: Json, compiler: PolicyCompiler) -> PolicyExpression:
    name = _text(variable, "name")
    return _tried(_text(variable, "expression"), lambda text: compiler.variable(name, text))


def _validation(validation: Json, compiler: PolicyCompiler) -> PolicyValidation:
    text = _text(validation, "messageExpression")
    return PolicyValidation(
        _tried(_text(validation, "expression"), compiler.condition),
        _text(validation, "message").strip(),
        _tried(text, compiler.message) if text else None,
        _text(validation, "reason") or "Invalid",
    )


def _mutation(mutation: Json, compiler: PolicyCompiler) -> PolicyMutation:
    kind = _text(mutation, "patchType")
    if kind not in _PATCHES:
        return PolicyMutation(kind, PolicyExpression("", None, f"unsupported patch type {kind!r}"))
    key, result = _PATCHES[kind]
    text = _text(mutation.get(key) or {}, "expression")
    return PolicyMutation(kind, _tried(text, lambda one: compiler.mutation(one, result)))


def _tried(text: str, compiled: Callable[[str], CompiledExpression]) -> PolicyExpression:
    try:
        return PolicyExpression(text, compiled(text).program)
    except ExpressionInvalid as why:
        return PolicyExpression(text, None, str(why))
    except ImportError:
        return PolicyExpression(text, None, WITHOUT_CEL)


def _text(part: Json, key: str) -> str:
    return str(part.get(key) or "")
