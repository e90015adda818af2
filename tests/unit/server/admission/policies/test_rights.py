"""Whoever writes policies and bindings needs the right to read their parameters."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from proreus.server.admission.policies.rights import printed
from proreus.server.app import ApiServer
from proreus.server.config import ServerConfig
from proreus.server.registry.user import User
from tests.unit.server.registry.server_under_test import MERGE, Asking

GROUP = "admissionregistration.k8s.io"
PATH = f"/apis/{GROUP}/v1"
RBAC = "/apis/rbac.authorization.k8s.io/v1"
ALICE = "&{alice  [system:authenticated] map[]}"
RULES = {"resourceRules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"],
                            "resources": ["pods"]}]}  # fmt: skip
CONFIG_MAPS = {"apiVersion": "v1", "kind": "ConfigMap"}
NAMED = {"name": "p", "namespace": "default", "parameterNotFoundAction": "Deny"}


@pytest_asyncio.fixture
async def ask() -> AsyncIterator[Asking]:
    """Alice may write what configures admission, and read nothing else."""
    async with ApiServer(ServerConfig()) as server:
        ready = Asking(server)
        await allow(ready, "author", {"apiGroups": [GROUP], "resources": ["*"], "verbs": ["*"]})
        yield ready


async def allow(ask: Asking, name: str, rule: dict[str, Any]) -> None:
    role = {"metadata": {"name": name}, "rules": [rule]}
    binding = {
        "metadata": {"name": name},
        "roleRef": {
            "apiGroup": "rbac.authorization.k8s.io",
            "kind": "ClusterRole",
            "name": name,
        },
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "alice"}],
    }
    assert (await ask("POST", f"{RBAC}/clusterroles", role)).status == 201
    assert (await ask("POST", f"{RBAC}/clusterrolebindings", binding)).status == 201
    await ask("GET", f"{RBAC}/clusterrolebindings")


def policy(name: str = "p", kind: dict[str, str] | None = None) -> dict[str, Any]:
    spec = {"matchConstraints": RULES, "validations": [{"expression": "true"}]}
    return {"metadata": {"name": name}, "spec": {**spec, **({"paramKind": kind} if kind else {})}}


def binding(name: str, reference: dict[str, Any]) -> dict[str, Any]:
    spec = {"policyName": name, "validationActions": ["Deny"], "paramRef": reference}
    return {"metadata": {"name": "b"}, "spec": spec}


async def refused(ask: Asking, plural: str, obj: dict[str, Any]) -> str:
    answer = await ask("POST", f"{PATH}/{plural}", obj, impersonated="alice")
    return "" if answer.status == 201 else str(answer.body["message"].partition("is invalid: ")[2])


async def test_a_policy_whose_parameters_its_author_may_not_read_is_refused(ask: Asking) -> None:
    plural = "validatingadmissionpolicies"
    why = f'user {ALICE} must have "get" permission on all objects of the referenced paramKind'

    assert await refused(ask, plural, policy()) == ""
    assert await refused(ask, plural, policy("q", CONFIG_MAPS)) == (
        f"spec.paramKind: Forbidden: {why} (kind=ConfigMap, apiVersion=v1)"
    )

    await allow(ask, "reader", {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get"]})
    assert await refused(ask, plural, policy("q", CONFIG_MAPS)) == ""


async def test_a_policy_may_be_changed_by_whoever_leaves_its_parameters(ask: Asking) -> None:
    policies = f"{PATH}/validatingadmissionpolicies"
    await ask("POST", policies, policy("p", CONFIG_MAPS))

    async def patched(spec: dict[str, Any]) -> int:
        patch = {"spec": spec}
        return (await ask("PATCH", f"{policies}/p", patch, kind=MERGE, impersonated="alice")).status

    assert await patched({"failurePolicy": "Ignore"}) == 200
    assert await patched({"paramKind": {"kind": "Secret"}}) == 422


@pytest.mark.parametrize(
    ("name", "reference", "why"),
    [
        ("with", NAMED,
         f'user {ALICE} does not have "get" permission on the object referenced by paramRef'),
        ("with", {"selector": {}, "parameterNotFoundAction": "Deny"},
         f'user {ALICE} does not have "list" permission on the object referenced by paramRef'),
        ("none", NAMED,
         "unable to get policy none to determine minimum required permissions and user "
         f'{ALICE} does not have "get" permission for all groups, versions and resources'),
        ("unserved", NAMED,
         "unable to resolve paramKind &{example.com/v1 Odd} to determine minimum required "
         f'permissions and user {ALICE} does not have "get" permission for all groups, versions '
         "and resources"),
    ],
)  # fmt: skip
async def test_a_binding_to_parameters_that_its_author_may_not_read_is_refused(
    ask: Asking, name: str, reference: dict[str, Any], why: str
) -> None:
    policies = f"{PATH}/validatingadmissionpolicies"
    await ask("POST", policies, policy("with", CONFIG_MAPS))
    odd = {"apiVersion": "example.com/v1", "kind": "Odd"}
    await ask("POST", policies, policy("unserved", odd))
    await ask("GET", policies)
    plural = "validatingadmissionpolicybindings"

    assert await refused(ask, plural, binding(name, reference)) == (
        f"spec.paramRef: Forbidden: {why}"
    )


async def test_the_right_to_read_one_parameter_is_enough_for_a_binding(ask: Asking) -> None:
    policies = f"{PATH}/validatingadmissionpolicies"
    await ask("POST", policies, policy("p", CONFIG_MAPS))
    await ask("GET", policies)
    one = {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get"]}
    await allow(ask, "reader", {**one, "resourceNames": ["p"]})
    plural = "validatingadmissionpolicybindings"

    assert await refused(ask, plural, binding("p", NAMED)) == ""
    assert await refused(ask, plural, binding("p", {**NAMED, "name": "q"})) != ""


def test_a_user_is_printed_as_go_does() -> None:
    user = User("u", ("a", "b"), "1", {"z": ("1", "2"), "k": ("3",)})

    assert printed(user) == "&{u 1 [a b] map[k:[3] z:[1 2]]}"
