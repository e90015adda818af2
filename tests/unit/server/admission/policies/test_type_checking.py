"""Expressions that ask for what the objects they are about do not have."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("cel_expr_python.cel")

from proreus.api.group_version import GroupVersionKind, GroupVersionResource
from proreus.server.admission.policies.type_checking import KnownTypes, expression_warnings
from proreus.server.schema.definitions import Definitions

KINDS = {
    GroupVersionResource("apps", "v1", "deployments"): GroupVersionKind("apps", "v1", "Deployment"),
    GroupVersionResource("", "v1", "configmaps"): GroupVersionKind("", "v1", "ConfigMap"),
}
TYPES = KnownTypes(KINDS.get, Definitions.load().node)


def rule(group: str, *resources: str, version: str = "v1") -> dict[str, Any]:
    return {"apiGroups": [group], "apiVersions": [version], "resources": list(resources)}


def warnings(*expressions: str, rules: Any = None, **spec: Any) -> dict[str, str]:
    validations = [{"expression": one} for one in expressions]
    constraints = {"resourceRules": rules or [rule("apps", "deployments", "deployments/scale")]}
    whole = {"matchConstraints": constraints, "validations": validations, **spec}
    return {one["fieldRef"]: one["warning"] for one in expression_warnings(whole, TYPES)}


def test_a_field_that_the_type_does_not_have_is_reported_with_its_place() -> None:
    assert warnings("object.spec.replicas > 1", "object.replicas > 1") == {
        "spec.validations[1].expression": (
            "apps/v1, Kind=Deployment: ERROR: <input>:1:7: undefined field 'replicas'\n"
            " | object.replicas > 1\n"
            " | ......^\n"
        )
    }


@pytest.mark.parametrize(
    "expression",
    [
        "object.spec.template.spec.containers.all(c, c.image.startsWith('x'))",
        "object.metadata.labels['a'] == 'b' && oldObject == null",
        "object.metadata.creationTimestamp < timestamp('2030-01-01T00:00:00Z')",
        "object.spec.template.spec.containers[0].ports.all(p, p.containerPort > 1024)",
        "object.spec.strategy.rollingUpdate.maxSurge == 1",
        "request.operation == 'CREATE' && namespaceObject.metadata.name != 'x'",
        "variables.n > 1",
    ],
)
def test_what_fits_the_type_gives_no_warning(expression: str) -> None:
    variables = [{"name": "n", "expression": "size(object.spec.template.spec.containers)"}]

    assert warnings(expression, variables=variables) == {}


def test_values_of_wrong_types_are_reported() -> None:
    (said,) = warnings("object.spec.replicas == 'three'").values()

    assert "found no matching overload for '_==_' applied to '(int, string)'" in said


def test_each_kind_that_the_rules_name_is_checked() -> None:
    rules = [rule("apps", "deployments"), rule("", "configmaps"), rule("*", "pods")]
    (said,) = warnings("has(object.spec)", rules=rules).values()

    assert said.startswith("/v1, Kind=ConfigMap: ERROR: <input>:1:4: undefined field 'spec'")
    assert "Deployment" not in said


def test_parameters_have_the_type_of_their_kind() -> None:
    kind = {"apiVersion": "v1", "kind": "ConfigMap"}
    (where,) = warnings("params.data['x'] == '1'", "params.spec == 1", paramKind=kind)

    assert where == "spec.validations[1].expression"


def test_messages_are_checked_too() -> None:
    validation = {"expression": "true", "messageExpression": "object.nothing"}

    assert list(warnings(validations=[validation])) == ["spec.validations[0].messageExpression"]
