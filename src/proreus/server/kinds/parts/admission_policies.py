"""What validating and mutating admission policies and their bindings have in common."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from proreus.api.field_error import FieldError
from proreus.api.json_types import Json, JsonObject
from proreus.api.values import names
from proreus.server.kinds.parts.admission_kinds import admission_kind
from proreus.server.kinds.parts.cells import UNSET, age, name_of
from proreus.server.kinds.parts.expressions import (
    expression_error,
    is_compilable,
    on_thread_if_many,
)
from proreus.server.kinds.parts.findings import Findings, items, repeats
from proreus.server.kinds.parts.label_selectors import check_selector
from proreus.server.kinds.parts.request_matching import (
    check_match_conditions,
    check_rule,
    default_rule,
)
from proreus.server.resource import Cells, Fill, Printer, Resource, Rules
from proreus.server.resource.rules import Validated, ValidateUpdate

if TYPE_CHECKING:
    from proreus.server.cel.policy import PolicyCompiler

_IDENTIFIER = re.compile(r"[_a-zA-Z][_a-zA-Z0-9]*", re.ASCII)
_RESERVED = frozenset({
    "true", "false", "null", "in", "as", "break", "const", "continue", "else", "for", "function",
    "if", "import", "let", "loop", "package", "namespace", "return", "var", "void", "while",
})  # fmt: skip
MUTATING_OPERATIONS = ("*", "CONNECT", "CREATE", "UPDATE")  # there is nothing to change in a delete
_EXCLUSIVE = "name and selector are mutually exclusive"


def _default_resources(resources: JsonObject | None) -> None:
    if resources is None:
        return
    resources.setdefault("matchPolicy", "Equivalent")
    resources.setdefault("namespaceSelector", {})
    resources.setdefault("objectSelector", {})
    for key in ("resourceRules", "excludeResourceRules"):
        for rule in resources.get(key) or ():
            default_rule(rule)


def default_policy(obj: JsonObject) -> None:
    obj["spec"].setdefault("failurePolicy", "Fail")
    _default_resources(obj["spec"].get("matchConstraints"))


def default_binding(obj: JsonObject) -> None:
    _default_resources((obj.get("spec") or {}).get("matchResources"))


def check_policy(
    found: Findings, spec: Json, *, operations: tuple[str, ...] = ()
) -> PolicyCompiler | None:
    """Fields that validating and mutating policies share. What is returned compiles the rest, with
    the policy's variables; None if this server cannot compile. ``operations``: those that rules may
    name, if that is not all."""
    if (policy := spec.get("failurePolicy")) is None:
        found.require("spec.failurePolicy", None)
    found.one_of("spec.failurePolicy", policy, ("Fail", "Ignore"))
    if (kind := spec.get("paramKind")) is not None:
        _check_param_kind(found, "spec.paramKind", kind)
    constraints = spec.get("matchConstraints")
    if constraints is None:
        found.require("spec.matchConstraints", None)
    else:
        _check_resources(found, "spec.matchConstraints", constraints)
        found.require("spec.matchConstraints.resourceRules", constraints.get("resourceRules"))
        if operations:
            check_operations(found, "spec.matchConstraints", constraints, operations)
    has_params = kind is not None
    conditions = spec.get("matchConditions")
    check_match_conditions(found, "spec.matchConditions", conditions, has_params=has_params)
    if not is_compilable(found, "spec"):
        return None
    from proreus.server.cel.policy import PolicyCompiler

    variables = spec.get("variables")
    compiler = PolicyCompiler(has_params=has_params, has_variables=bool(variables))
    for where, variable in items(variables, "spec.variables"):
        _check_variable(found, where, variable, compiler)
    return compiler


def count_expressions(spec: Json) -> int:
    """Variables and mutations count more: each is compiled with a checker of its own."""
    weights = {"matchConditions": 1, "validations": 2, "auditAnnotations": 1, "variables": 5,
               "mutations": 5}  # fmt: skip
    return sum(len(spec.get(key) or ()) * weight for key, weight in weights.items())


def _check_variable(found: Findings, at: str, variable: Json, compiler: PolicyCompiler) -> None:
    name, text = variable.get("name") or "", variable.get("expression") or ""
    is_usable = _is_identifier(name)
    is_named = found.require(f"{at}.name", name.strip(), "name is not specified")
    if is_named and not is_usable:
        found.invalid(f"{at}.name", name, "must be a valid CEL identifier")
    if not check_expression(found, f"{at}.expression", text):
        return

    def compiled(one: str) -> object:
        return compiler.variable(name, one) if is_usable else compiler.anything(one)

    check_compiled(found, f"{at}.expression", text, compiled)


def _is_identifier(name: str) -> bool:
    return _IDENTIFIER.fullmatch(name) is not None and name not in _RESERVED


def check_expression(found: Findings, at: str, expression: str | None) -> bool:
    return found.require(at, (expression or "").strip(), "expression is not specified")


def check_compiled(found: Findings, at: str, text: str, compiled: Callable[[str], object]) -> None:
    from proreus.server.cel.admission import ExpressionInvalid

    try:
        compiled(text)
    except ExpressionInvalid as why:
        found.append(expression_error(at, text, why))


def _check_param_kind(found: Findings, at: str, kind: Json) -> None:
    version, name, place = kind.get("apiVersion") or "", kind.get("kind") or "", f"{at}.apiVersion"
    group, _, short = version.rpartition("/")
    if found.require(place, version):
        if version.count("/") > 1:
            found.invalid(place, version, f"unexpected GroupVersion string: {version}")
        else:
            if group and (faults := names.dns_subdomain(group)):
                found.invalid(place, group, ",".join(faults))
            if not short:
                found.invalid(place, version, "version must be specified")
            elif faults := names.dns_1035_label(short):
                found.invalid(place, short, ",".join(faults))
    if found.require(f"{at}.kind", name) and (faults := names.dns_1035_label(name.lower())):
        why = f"may have mixed case, but should otherwise match: {','.join(faults)}"
        found.invalid(f"{at}.kind", name, why)


def _check_resources(found: Findings, at: str, resources: Json) -> None:
    found.one_of(f"{at}.matchPolicy", resources.get("matchPolicy"), ("Equivalent", "Exact"))
    check_selector(found, f"{at}.namespaceSelector", resources.get("namespaceSelector"))
    check_selector(found, f"{at}.objectSelector", resources.get("objectSelector"))
    for key in ("resourceRules", "excludeResourceRules"):
        for where, rule in items(resources.get(key), f"{at}.{key}"):
            named = rule.get("resourceNames")
            for place, name, is_repeated in repeats(named, f"{where}.resourceNames"):
                found.name(place, name, names.path_segment)
                if is_repeated:
                    found.duplicate(place, name)
            check_rule(found, where, rule)


def check_operations(
    found: Findings, at: str, resources: Json, operations: tuple[str, ...]
) -> None:
    for rule in resources.get("resourceRules") or ():
        for operation in rule.get("operations") or ():
            found.one_of(f"{at}.resourceRules.operations", operation, operations)


def check_binding(found: Findings, spec: Json, resources_at: str) -> None:
    if spec.get("policyName"):
        found.name("spec.policyName", spec["policyName"])
    if (reference := spec.get("paramRef")) is not None:
        _check_param(found, "spec.paramRef", reference)
    if (resources := spec.get("matchResources")) is not None:
        _check_resources(found, resources_at, resources)


def check_declared_binding(found: Findings, spec: Json) -> None:
    """What the type declares, which is checked last."""
    found.require("spec.policyName", spec.get("policyName"))


def _check_param(found: Findings, at: str, reference: Json) -> None:
    name, selector = reference.get("name") or "", reference.get("selector")
    if name:
        found.name(f"{at}.name", name, names.path_segment)
        if selector is not None:
            found.forbid(f"{at}.name", _EXCLUSIVE)
    check_selector(found, f"{at}.selector", selector)
    if name and selector is not None:
        found.forbid(f"{at}.selector", _EXCLUSIVE)
    if not name and selector is None:
        found.require(at, None, "one of name or selector must be specified")
    action = reference.get("parameterNotFoundAction")
    found.required_one_of(f"{at}.parameterNotFoundAction", action, ("Deny", "Allow"))


def admission_policy(
    kind: str,
    counted: str,
    violations: Callable[[JsonObject], list[FieldError]],
    *,
    validate_status: ValidateUpdate | None = None,
) -> Resource:
    """``counted``: the field of the spec that lists what the policy does. ``validate_status``: of a
    kind that has one."""

    def validate(obj: JsonObject) -> Validated:
        return on_thread_if_many(count_expressions(obj["spec"]), lambda: violations(obj))

    rules = Rules(default=default_policy, validate=validate)
    if validate_status is not None:
        rules = replace(rules, validate_status=validate_status)
    columns = "Name", f"{counted.capitalize()}:integer", "ParamKind", "Age"
    return admission_kind(
        kind,
        f"{kind.lower().removesuffix('y')}ies",
        rules,
        Printer.of(_fill_policy(counted), *columns),
        has_status=validate_status is not None,
    )


def _fill_policy(counted: str) -> Fill:
    def fill(obj: Json, now: float) -> Cells:
        spec = obj.get("spec") or {}
        kind = spec.get("paramKind")
        text = f"{kind.get('apiVersion', '')}/{kind.get('kind', '')}" if kind else UNSET
        return [name_of(obj), len(spec.get(counted) or ()), text, age(obj, now)]

    return fill


def _fill_binding(obj: Json, now: float) -> Cells:
    spec = obj.get("spec") or {}
    return [name_of(obj), spec.get("policyName", ""), _parameters(spec), age(obj, now)]


def _parameters(spec: Json) -> str:
    ref = spec.get("paramRef") or {}
    if ref.get("name"):
        return f"{ref.get('namespace') or '*'}/{ref['name']}"
    chosen = ref.get("selector")
    return UNSET if chosen is None else _selector_in_go(chosen)


def _selector_in_go(chosen: Json) -> str:
    """As Go prints the type; Kubernetes does not use the text form of selectors here."""
    labels = chosen.get("matchLabels") or {}
    pairs = "".join(f"{key}: {labels[key]}," for key in sorted(labels))
    terms = "".join(
        f"LabelSelectorRequirement{{Key:{term.get('key', '')},Operator:{term.get('operator', '')},"
        f"Values:[{' '.join(term.get('values') or ())}],}},"
        for term in chosen.get("matchExpressions") or ()
    )
    return (
        f"&LabelSelector{{MatchLabels:map[string]string{{{pairs}}},"
        f"MatchExpressions:[]LabelSelectorRequirement{{{terms}}},}}"
    )


BINDING_PRINTER = Printer.of(_fill_binding, "Name", "PolicyName", "ParamRef", "Age")
