"""The first rule that matches decides, whatever the rules are."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proreus.api.wire import json
from proreus.api.wire.path import ApiPath, OtherPath, Path
from proreus.server.audit.policy import Level, Policy, Stage
from proreus.server.audit.policy_file import parse_policy
from proreus.server.registry.user import User

Json = dict[str, Any]
NAMES = st.sampled_from(["a", "b", "c"])
LISTS = st.lists(NAMES, max_size=2)
RESOURCES = st.sampled_from(
    ["*", "pods", "pods/log", "pods/*", "*/log", "*/scale", "deployments", "*/*", "secrets"]
)
URLS = st.sampled_from(["*", "/healthz", "/healthz*", "/api/*", "/version"])
GROUPS = st.builds(
    lambda group, resources, names: {
        "group": group,
        "resources": resources,
        "resourceNames": names if resources else [],
    },
    st.sampled_from(["", "apps", "*"]),
    st.lists(RESOURCES, max_size=2),
    LISTS,
)
SCOPES = st.one_of(
    st.fixed_dictionaries(
        {},
        optional={
            "resources": st.lists(GROUPS, max_size=2),
            "namespaces": st.lists(st.sampled_from(["", "a", "b"]), max_size=2),
        },
    ),
    st.fixed_dictionaries({"nonResourceURLs": st.lists(URLS, max_size=2)}),
)
STAGES = st.lists(st.sampled_from([stage.value for stage in Stage]), max_size=2)
RULES = st.builds(
    lambda rule, scope: {**rule, **scope},
    st.fixed_dictionaries(
        {"level": st.sampled_from([level.value for level in Level])},
        optional={
            "users": LISTS,
            "userGroups": LISTS,
            "verbs": st.lists(st.sampled_from(["get", "list", "create"]), max_size=2),
            "omitStages": STAGES,
            "omitManagedFields": st.booleans(),
        },
    ),
    SCOPES,
)
POLICIES = st.fixed_dictionaries(
    {"rules": st.lists(RULES, min_size=1, max_size=4)},
    optional={"omitStages": STAGES, "omitManagedFields": st.booleans()},
)
USERS = st.none() | st.builds(lambda name, groups: User(name, tuple(groups)), NAMES, LISTS)
TARGETS = st.one_of(
    st.builds(
        ApiPath,
        st.sampled_from(["", "apps"]),
        st.just("v1"),
        st.sampled_from(["pods", "deployments", "secrets"]),
        st.sampled_from(["", "a", "b"]),
        st.sampled_from(["", "a", "b"]),
        st.sampled_from(["", "log", "scale"]),
    ),
    st.just(OtherPath(())),
)
PATHS = st.sampled_from(["/healthz", "/healthz/ping", "/api/v1", "/version", "/"])


def policy(document: Json) -> Policy:
    head = {"apiVersion": "audit.k8s.io/v1", "kind": "Policy"}
    return parse_policy(json.encode({**head, **document}))


def naive_level(
    document: Json, user: User | None, verb: str, target: Path, path: str
) -> tuple[str, set[str], bool]:
    """kube-apiserver's evaluation, in its own steps."""
    for rule in document["rules"]:
        if naive_matches(rule, user, verb, target, path):
            stages = {*document.get("omitStages", ()), *rule.get("omitStages", ())}
            managed = rule.get("omitManagedFields", document.get("omitManagedFields", False))
            return rule["level"], stages, managed
    return "None", set(), False


def naive_matches(rule: Json, user: User | None, verb: str, target: Path, path: str) -> bool:
    if rule.get("users") and (user is None or user.name not in rule["users"]):
        return False
    groups = user.groups if user is not None else ()
    if rule.get("userGroups") and not [each for each in groups if each in rule["userGroups"]]:
        return False
    if rule.get("verbs") and verb not in rule["verbs"]:
        return False
    if rule.get("namespaces") or rule.get("resources"):
        return isinstance(target, ApiPath) and naive_matches_resource(rule, target)
    if rule.get("nonResourceURLs"):
        return not isinstance(target, ApiPath) and any(
            url in {"*", path} or (url[-1] == "*" and path.startswith(url[:-1]))
            for url in rule["nonResourceURLs"]
        )
    return True


def naive_matches_resource(rule: Json, target: ApiPath) -> bool:
    if rule.get("namespaces") and target.namespace not in rule["namespaces"]:
        return False
    if not rule.get("resources"):
        return True
    whole = f"{target.resource}/{target.subresource}" if target.subresource else target.resource
    for group in rule["resources"]:
        if group["group"] not in (target.group, "*"):
            continue
        if not group["resources"]:
            return True
        if group["resourceNames"] and target.name not in group["resourceNames"]:
            continue
        for resource in group["resources"]:
            parent, slash, part = resource.partition("/")
            if resource in ("*", whole):
                return True
            if slash and parent == "*" and target.subresource and part == target.subresource:
                return True
            if slash and part == "*" and parent == target.resource:
                return True
    return False


@given(POLICIES, USERS, st.sampled_from(["get", "list", "create"]), TARGETS, PATHS)
def test_a_compiled_policy_decides_as_the_plain_reading_of_its_rules(
    document: Json, user: User | None, verb: str, target: Path, path: str
) -> None:
    found = policy(document).evaluate(user, verb, target, path)

    wanted = naive_level(document, user, verb, target, path)
    assert (found.level.value, set(found.omit_stages), found.omit_managed_fields) == wanted


@pytest.mark.parametrize(
    ("listed", "resource", "subresource", "is_matched"),
    [
        ("pods", "pods", "", True),
        ("pods", "pods", "log", False),
        ("pods/log", "pods", "log", True),
        ("pods/*", "pods", "exec", True),
        ("pods/*", "pods", "", True),
        ("*/scale", "deployments", "scale", True),
        ("*/scale", "deployments", "", False),
        ("*", "pods", "log", True),
    ],
)
def test_subresources_are_matched_by_their_own_names_and_by_stars(
    listed: str, resource: str, subresource: str, is_matched: bool
) -> None:
    rules = [{"level": "Metadata", "resources": [{"resources": [listed]}]}]

    found = policy({"rules": rules}).evaluate(
        None, "get", ApiPath("", "v1", resource, "ns", "a", subresource), ""
    )

    assert (found.level is Level.METADATA) == is_matched


def test_what_no_rule_matches_is_not_recorded() -> None:
    rules = [{"level": "Request", "users": ["a"]}]

    found = policy({"rules": rules}).evaluate(User("b"), "get", OtherPath(()), "/api")

    assert found.level is Level.NONE
