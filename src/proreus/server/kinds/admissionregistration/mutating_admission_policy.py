"""MutatingAdmissionPolicy: changes objects by expressions on admission."""

from __future__ import annotations

from typing import TYPE_CHECKING

from proreus.api.field_error import FieldError
from proreus.api.json_types import Json, JsonObject
from proreus.server.kinds.parts.admission_policies import (
    MUTATING_OPERATIONS,
    admission_policy,
    check_compiled,
    check_policy,
)
from proreus.server.kinds.parts.findings import Findings, items

if TYPE_CHECKING:
    from proreus.server.cel.policy import PolicyCompiler


# The field of each type of patch, and what its expression makes.
_PATCHES = {
    "ApplyConfiguration": ("applyConfiguration", "Object"),
    "JSONPatch": ("jsonPatch", "list(JSONPatch)"),
}


def _violations(obj: JsonObject) -> list[FieldError]:
    found, spec = Findings(), obj["spec"]
    compiler = check_policy(found, spec, operations=MUTATING_OPERATIONS)
    mutations = spec.get("mutations")
    found.require("spec.mutations", mutations, "mutations must contain at least one item")
    for where, mutation in items(mutations, "spec.mutations"):
        _check_mutation(found, where, mutation, compiler)
    policies = ("IfNeeded", "Never")
    found.required_one_of("spec.reinvocationPolicy", spec.get("reinvocationPolicy"), policies)
    return found


def _check_mutation(
    found: Findings, at: str, mutation: Json, compiler: PolicyCompiler | None
) -> None:
    kind = mutation.get("patchType")
    found.required_one_of(f"{at}.patchType", kind, tuple(_PATCHES))
    if kind not in _PATCHES:
        return
    key, result = _PATCHES[kind]
    part, place = mutation.get(key), f"{at}.{key}"
    if part is None:
        found.require(place, None, f"must be specified when patchType is {kind}")
    elif found.require(f"{place}.expression", text := (part.get("expression") or "").strip()):
        _check_expression(found, f"{place}.expression", text, result, compiler)
    for other, _ in _PATCHES.values():
        if other != key and mutation.get(other) is not None:
            why = f"must not be specified when patchType is {kind}"
            found.invalid(f"{at}.{other}", f"{{{other}}}", why)


def _check_expression(
    found: Findings, at: str, text: str, result: str, compiler: PolicyCompiler | None
) -> None:
    if compiler is not None:
        check_compiled(found, at, text, lambda one: compiler.mutation(one, result))


RESOURCES = (admission_policy("MutatingAdmissionPolicy", "mutations", _violations),)
