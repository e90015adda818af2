"""Which flow schema a request falls under, by the schemas that a cluster begins with and others."""

from __future__ import annotations

from typing import Any

import pytest

from proreus.aio.clock import SystemClock
from proreus.server.fairness.fairness import Fairness
from proreus.server.fairness.flow_schemas import FlowSchema, Requested, first_match, in_order
from proreus.server.kinds.parts.flow_control import SCHEMA_KIND, bootstrap_objects
from proreus.server.registry.user import ANONYMOUS, AUTHENTICATED, MASTERS, User

SUGGESTED = in_order(
    FlowSchema.of(obj) for obj in bootstrap_objects() if obj["kind"] == SCHEMA_KIND
)
PODS = Requested("list", "", "pods", "default")
LEASE = Requested("update", "coordination.k8s.io", "leases", "kube-system")
NODE = User("system:node:a", ("system:nodes", AUTHENTICATED))


def user(name: str, *groups: str) -> User:
    return User(name, (*groups, AUTHENTICATED))


@pytest.mark.parametrize(
    ("who", "asked", "schema"),
    [
        (user("root", MASTERS), PODS, "exempt"),
        (user("root", MASTERS), Requested("get", path="/healthz"), "exempt"),
        (user("alice"), PODS, "global-default"),
        (user("alice"), Requested("get", path="/livez"), "probes"),
        (user("alice"), Requested("get", path="/livez/ping"), "global-default"),
        (ANONYMOUS, Requested("get", path="/readyz"), "probes"),
        (ANONYMOUS, Requested("head", path="/readyz"), "global-default"),
        (ANONYMOUS, PODS, "global-default"),
        (user("system:kube-scheduler"), LEASE, "system-leader-election"),
        (user("system:kube-scheduler"), LEASE._replace(verb="list"), "kube-scheduler"),
        (user("system:kube-scheduler"), PODS, "kube-scheduler"),
        (user("system:kube-controller-manager"), PODS, "kube-controller-manager"),
        (user("system:serviceaccount:kube-system:x"), PODS, "kube-system-service-accounts"),
        (user("system:serviceaccount:kube-system:x"), LEASE, "system-leader-election"),
        (user("system:serviceaccount:a:x", "system:serviceaccounts"), PODS, "service-accounts"),
        (NODE, Requested("patch", "", "nodes/status"), "system-node-high"),
        (NODE, LEASE, "system-node-high"),
        (NODE, Requested("get", "", "nodes/proxy"), "system-nodes"),
        (NODE, PODS, "system-nodes"),
    ],
)  # fmt: skip
def test_a_request_falls_under_the_schema_that_kubernetes_chooses(
    who: User, asked: Requested, schema: str
) -> None:
    found = first_match(SUGGESTED, who, asked)

    assert found is not None
    assert found.name == schema


def schema(name: str, precedence: int, **rule: Any) -> FlowSchema:
    rules = {"subjects": [{"kind": "Group", "group": {"name": "*"}}], **rule}
    return FlowSchema.of(
        {
            "metadata": {"name": name, "uid": name},
            "spec": {
                "matchingPrecedence": precedence,
                "priorityLevelConfiguration": {"name": "exempt"},
                "rules": [rules],
            },
        }
    )


EVERYTHING: dict[str, Any] = {
    "verbs": ["*"], "apiGroups": ["*"], "resources": ["*"], "namespaces": ["*"],
    "clusterScope": True,
}  # fmt: skip


@pytest.mark.parametrize(
    ("rule", "asked", "matches"),
    [
        ({}, PODS, True),
        ({"verbs": ["get"]}, PODS, False),
        ({"resources": ["pods"]}, PODS, True),
        ({"resources": ["pods"]}, PODS._replace(resource="pods/log"), False),
        ({"resources": ["pods/log"]}, PODS._replace(resource="pods/log"), True),
        ({"apiGroups": ["apps"]}, PODS, False),
        ({"namespaces": ["other"]}, PODS, False),
        ({"namespaces": ["default"], "clusterScope": False}, PODS, True),
        ({"namespaces": ["default"], "clusterScope": False}, PODS._replace(namespace=""), False),
        ({"namespaces": [], "clusterScope": True}, PODS._replace(namespace=""), True),
        ({"namespaces": [], "clusterScope": True}, PODS, False),
        ({}, Requested("get", path="/version"), False),
    ],
)
def test_every_part_of_a_resource_rule_must_match(
    rule: dict[str, Any], asked: Requested, matches: bool
) -> None:
    found = schema("s", 5, resourceRules=[{**EVERYTHING, **rule}])

    assert found.matches(user("alice"), asked) is matches


def test_the_lowest_precedence_wins_and_then_the_name() -> None:
    one, two, three = (
        schema(name, precedence, resourceRules=[EVERYTHING])
        for name, precedence in (("c", 5), ("b", 5), ("a", 6))
    )

    assert [found.name for found in in_order([three, one, two])] == ["b", "c", "a"]


def test_a_schema_whose_level_is_missing_is_passed_over_and_mandatory_ones_always_hold() -> None:
    fairness = Fairness(SystemClock())
    assert fairness.flow(user("alice"), PODS).schema.name == "catch-all"
    assert fairness.flow(user("root", MASTERS), PODS).level.config.is_exempt

    fairness.set_schemas(SUGGESTED)

    assert fairness.flow(user("alice"), PODS).schema.name == "catch-all"


def test_long_paths_and_schemas_that_are_gone_leave_nothing_behind() -> None:
    fairness = Fairness(SystemClock())
    mine = schema("mine", 5, resourceRules=[EVERYTHING])
    fairness.set_schemas([mine])
    assert fairness.flow(user("alice"), PODS).schema is mine
    fairness.flow(user("alice"), Requested("get", path="/" + "x" * 10_000))

    assert all(len(asked.path) < 1_000 for _, _, asked in fairness._flows)
    fairness.set_schemas([])

    assert "mine" not in {name for name, _ in fairness.counts}
