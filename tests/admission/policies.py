"""Policies and bindings that tests write."""

from __future__ import annotations

from typing import Any

from proreus.client import Client

Json = dict[str, Any]
GROUP = "admissionregistration.k8s.io"


def rule(*resources: str, group: str = "", **more: Any) -> Json:
    return {
        "apiGroups": [group],
        "apiVersions": ["*"],
        "operations": ["CREATE", "UPDATE"],
        "resources": list(resources or ("configmaps",)),
        **more,
    }


def policies(client: Client, kind: str) -> Any:
    return client.resource(api_version=f"{GROUP}/v1", kind=f"{kind}AdmissionPolicy")


def bindings(client: Client, kind: str) -> Any:
    return client.resource(api_version=f"{GROUP}/v1", kind=f"{kind}AdmissionPolicyBinding")


async def validate(client: Client, *expressions: str, name: str = "p", **spec: Any) -> None:
    """A policy of these expressions, each with itself as its message; ``bind`` it."""
    validations = [{"expression": one} for one in expressions]
    constraints = {"resourceRules": [rule()]}
    whole = {"matchConstraints": constraints, "validations": validations, **spec}
    await policies(client, "Validating").create({"metadata": {"name": name}, "spec": whole})


async def mutate(client: Client, expression: str, *, name: str = "p", **spec: Any) -> None:
    """An ApplyConfiguration, or a JSONPatch if the expression makes a list."""
    if expression.startswith("["):
        mutation: Json = {"patchType": "JSONPatch", "jsonPatch": {"expression": expression}}
    else:
        part = {"expression": expression}
        mutation = {"patchType": "ApplyConfiguration", "applyConfiguration": part}
    whole = {
        "matchConstraints": {"resourceRules": [rule()]},
        "reinvocationPolicy": "Never",
        "mutations": [mutation],
        **spec,
    }
    await policies(client, "Mutating").create({"metadata": {"name": name}, "spec": whole})


async def bind(client: Client, kind: str, *, policy: str = "p", **spec: Any) -> None:
    """In force when this returns: caches follow in order."""
    actions = {"validationActions": ["Deny"]} if kind == "Validating" else {}
    body = {"metadata": {"name": f"{policy}-b"}, "spec": {"policyName": policy, **actions, **spec}}
    await bindings(client, kind).create(body)


def config_map(name: str, data: Json | None = None, **metadata: Any) -> Json:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, **metadata},
        "data": data or {"x": "1"},
    }
