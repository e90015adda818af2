"""Rules and selectors of webhooks and policies, against a plain reading of what they say."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proreus.api.group_version import GroupVersionResource
from proreus.api.selectors.labels import LabelSelector
from proreus.server.admission.matching import (
    RequestRule,
    RequestTarget,
    configures_admission,
    matched_resource,
    selects_object,
)

OPERATIONS = ("CREATE", "UPDATE", "DELETE", "CONNECT")
GROUPS, VERSIONS = ("", "apps"), ("v1", "v1beta1")
PLURALS, PARTS = ("pods", "namespaces"), ("", "status", "exec")


def some(*values: str) -> st.SearchStrategy[list[str]]:
    return st.lists(st.sampled_from([*values, "*"]), min_size=1, max_size=3)


RESOURCES = st.builds(
    lambda plural, part: f"{plural}/{part}" if part else plural,
    st.sampled_from([*PLURALS, "*"]),
    st.sampled_from([*PARTS, "*"]),
)
RULES = st.fixed_dictionaries(
    {
        "operations": some(*OPERATIONS),
        "apiGroups": some(*GROUPS),
        "apiVersions": some(*VERSIONS),
        "resources": st.lists(RESOURCES, min_size=1, max_size=3),
    },
    optional={"scope": st.sampled_from(["*", "Cluster", "Namespaced"])},
)
GVRS = st.builds(
    GroupVersionResource,
    st.sampled_from(GROUPS),
    st.sampled_from(VERSIONS),
    st.sampled_from(PLURALS),
)
TARGETS = st.builds(
    RequestTarget,
    st.sampled_from(OPERATIONS),
    GVRS,
    st.sampled_from(PARTS),
    st.sampled_from(["", "shop"]),
)


def matches_plainly(rule: dict[str, Any], target: RequestTarget) -> bool:
    """Kubernetes' documentation, word for word: lists of texts, each compared with each."""
    resource = target.resource

    def one_of(texts: list[str], text: str) -> bool:
        return any(one in ("*", text) for one in texts)

    def has_resource() -> bool:
        for name in rule["resources"]:
            plural, _, part = name.partition("/")
            if plural in ("*", resource.resource) and part in ("*", target.subresource):
                return True
        return False

    is_namespace = resource == GroupVersionResource("", "v1", "namespaces")
    scopes = {
        "*": True,
        "Cluster": is_namespace or not target.namespace,
        "Namespaced": not is_namespace and bool(target.namespace),
    }
    return (
        scopes[rule.get("scope", "*")]
        and one_of(rule["operations"], target.operation)
        and one_of(rule["apiGroups"], resource.group)
        and one_of(rule["apiVersions"], resource.version)
        and has_resource()
    )


@given(RULES, TARGETS)
def test_a_rule_matches_what_it_says(rule: dict[str, Any], target: RequestTarget) -> None:
    assert RequestRule.of(rule).matches(target) == matches_plainly(rule, target)


@given(st.lists(RULES, max_size=3), TARGETS, st.lists(GVRS, max_size=3))
def test_the_requests_own_version_comes_before_equivalent_ones(
    rules: list[dict[str, Any]], target: RequestTarget, others: list[GroupVersionResource]
) -> None:
    found = matched_resource([RequestRule.of(rule) for rule in rules], target, others)

    def plainly(resource: GroupVersionResource, rule: dict[str, Any]) -> bool:
        asked = RequestTarget(target.operation, resource, target.subresource, target.namespace)
        return matches_plainly(rule, asked)

    wanted = [target.resource for rule in rules if plainly(target.resource, rule)]
    wanted += [other for rule in rules for other in others if plainly(other, rule)]
    assert found == (wanted[0] if wanted else None)


@pytest.mark.parametrize(
    ("obj", "old", "is_selected"),
    [
        ({"tier": "web"}, None, True),
        (None, {"tier": "web"}, True),
        ({}, {"tier": "web"}, True),
        ({"tier": "web"}, {}, True),
        ({}, {}, False),
        (None, None, False),
    ],
)
def test_an_object_is_selected_as_it_was_or_as_it_will_be(
    obj: dict[str, str] | None, old: dict[str, str] | None, is_selected: bool
) -> None:
    selector = LabelSelector.from_object({"matchLabels": {"tier": "web"}})
    objects = [
        None if labels is None else {"metadata": {"labels": labels}} for labels in (obj, old)
    ]

    assert selects_object(selector, *objects) is is_selected


def test_what_has_no_metadata_has_no_labels_to_be_absent() -> None:
    selector = LabelSelector.from_object(
        {"matchExpressions": [{"key": "tier", "operator": "DoesNotExist"}]}
    )

    assert selects_object(selector, {"metadata": {}}, None)
    assert not selects_object(selector, {"kind": "PodExecOptions"}, None)


def test_no_configuration_of_admission_is_subject_to_another() -> None:
    group = "admissionregistration.k8s.io"

    assert configures_admission(group, "ValidatingWebhookConfiguration")
    assert configures_admission(group, "MutatingAdmissionPolicyBinding")
    assert not configures_admission("example.com", "ValidatingWebhookConfiguration")
    assert not configures_admission("", "ConfigMap")
