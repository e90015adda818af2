"""Roles and bindings decide as Kubernetes does, and what was taken away is gone at once."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proreus.server.authz.authorizer import Action, Decision
from proreus.server.authz.rbac.authorizer import Rbac
from proreus.server.authz.rbac.bindings import Binding, Subject
from proreus.server.authz.rbac.rules import PolicyRule
from proreus.server.registry.user import User
from tests.unit.server.authz.rbac.naive import Naive
from tests.unit.server.authz.rbac.strategies import (
    NAMESPACES,
    ROLES,
    actions,
    bindings,
    rule_lists,
)

ANN = User("ann", ("devs",))
READ_PODS = PolicyRule(verbs=("get",), groups=("",), resources=("pods",))
GET_POD = Action(user=ANN, verb="get", resource="pods", namespace="n", name="p")


def bound(role: str = "r", *, namespace: str = "n", kind: str = "Role") -> Binding:
    to_ann = (Subject("User", "ann"),)
    return Binding(namespace=namespace, name="b", role_kind=kind, role_name=role, subjects=to_ann)


changes = st.one_of(
    st.tuples(
        st.just("role"), st.sampled_from(["", *NAMESPACES]), st.sampled_from(ROLES), rule_lists
    ),
    st.tuples(st.just("no role"), st.sampled_from(["", *NAMESPACES]), st.sampled_from(ROLES)),
    st.tuples(st.just("binding"), bindings),
    st.tuples(st.just("no binding"), bindings),
    st.tuples(st.just("ask"), actions),
)


@given(st.lists(changes, max_size=25), st.lists(actions, min_size=1, max_size=10))
def test_decisions_equal_a_plain_evaluation_of_all_rules(
    history: list[tuple[object, ...]], asked: list[Action]
) -> None:
    """Guarantee: no one in where they do not belong"""
    rbac, naive = Rbac(), Naive()

    for change in history:
        match change:
            case ("role", str(namespace), str(name), tuple(rules)):
                rbac.put_role(namespace, name, rules)
                naive.roles[namespace, name] = rules
            case ("no role", str(namespace), str(name)):
                rbac.remove_role(namespace, name)
                naive.roles.pop((namespace, name), None)
            case ("binding", Binding() as binding):
                rbac.put_binding(binding)
                naive.bindings[binding.namespace, binding.name] = binding
            case ("no binding", Binding() as binding):
                rbac.remove_binding(binding.namespace, binding.name)
                naive.bindings.pop((binding.namespace, binding.name), None)
            case ("ask", Action() as action):
                rbac.authorize(action)  # what it remembers must not outlive the next change

    for action in asked:
        verdict = rbac.authorize(action)
        source, missing = naive.allowed_by(action)
        assert (verdict.decision is Decision.ALLOW) is bool(source)
        if source:
            assert verdict.reason == f"RBAC: allowed by {source}"
        else:
            assert bool(verdict.reason) is bool(missing)


def test_a_removed_binding_allows_nothing_to_the_next_request() -> None:
    rbac = Rbac()
    rbac.put_role("n", "r", [READ_PODS])
    rbac.put_binding(bound())
    allowed = rbac.authorize(GET_POD)

    rbac.remove_binding("n", "b")

    assert allowed.reason == 'RBAC: allowed by RoleBinding "b/n" of Role "r" to User "ann"'
    assert rbac.authorize(GET_POD).decision is Decision.NO_OPINION


def test_a_changed_role_is_in_force_for_the_next_request() -> None:
    rbac = Rbac()
    rbac.put_role("n", "r", [])
    rbac.put_binding(bound())
    refused = rbac.authorize(GET_POD)

    rbac.put_role("n", "r", [READ_PODS])

    assert refused.decision is Decision.NO_OPINION
    assert rbac.authorize(GET_POD).decision is Decision.ALLOW


def test_a_refusal_says_which_roles_do_not_exist() -> None:
    rbac = Rbac()
    rbac.put_binding(bound("gone"))
    rbac.put_binding(bound("lost", namespace="", kind="ClusterRole"))

    verdict = rbac.authorize(GET_POD)

    assert verdict.reason == (
        'rbac: RBAC: [clusterrole.rbac.authorization.k8s.io "lost" not found, '
        'role.rbac.authorization.k8s.io "gone" not found]'
    )


def test_a_role_of_another_namespace_is_another_role() -> None:
    rbac = Rbac()
    rbac.put_role("m", "r", [READ_PODS])
    rbac.put_binding(bound())

    assert rbac.authorize(GET_POD).decision is Decision.NO_OPINION


def test_the_rules_of_a_user_are_those_bound_everywhere_and_in_the_namespace() -> None:
    rbac = Rbac()
    everywhere = PolicyRule(verbs=("get",), urls=("/metrics",))
    rbac.put_role("", "c", [everywhere])
    rbac.put_role("n", "r", [READ_PODS])
    rbac.put_binding(bound("c", namespace="", kind="ClusterRole"))
    rbac.put_binding(bound())
    rbac.put_binding(bound("gone", namespace="m"))

    assert rbac.rules_of(ANN, "n").rules == [everywhere, READ_PODS]
    assert rbac.rules_of(ANN, "m").errors == ['role.rbac.authorization.k8s.io "gone" not found']
    assert rbac.rules_of(User("other"), "n").rules == []


@pytest.mark.parametrize("is_cluster", [True, False])
def test_a_cleared_policy_allows_nothing(is_cluster: bool) -> None:
    rbac = Rbac()
    rbac.put_role("", "c", [READ_PODS])
    rbac.put_binding(bound("c", namespace="" if is_cluster else "n", kind="ClusterRole"))
    assert rbac.authorize(GET_POD).decision is Decision.ALLOW

    rbac.clear_bindings(is_cluster=is_cluster)

    assert rbac.authorize(GET_POD).decision is Decision.NO_OPINION
    assert repr(rbac) == "<Rbac: 1 roles, 0 bindings>"
