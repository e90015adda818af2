"""Rules that contain others: what one may grant."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proreus.server.authz.authorizer import Action
from proreus.server.authz.rbac.covers import joined, missing
from proreus.server.authz.rbac.rules import PolicyRule
from proreus.server.registry.user import User
from tests.unit.server.authz.rbac import strategies as world
from tests.unit.server.authz.rbac.naive import rule_allows

NOBODY = User("nobody")
EVERY_ACTION = [
    *(
        Action(user=NOBODY, verb=v, group=g, resource=r, subresource=s, name=n)
        for v, g, r, s, n in product(
            [*world.VERBS, "other"], [*world.GROUPS, "x"], world.RESOURCES,
            world.SUBRESOURCES, [*world.NAMES, "other"],
        )
    ),
    *(
        Action(user=NOBODY, verb=verb, path=path)
        for verb, path in product(world.VERBS, [*world.PATHS, "/a/b/c", "/d", "/*/b"])
    ),
]  # fmt: skip


def allows(rules: list[PolicyRule], action: Action) -> bool:
    return any(rule_allows(rule, action) for rule in rules)


@given(st.lists(world.rules, max_size=3), st.lists(world.rules, min_size=1, max_size=2))
def test_who_lacks_nothing_may_do_all_that_the_wanted_rules_allow(
    held: list[PolicyRule], wanted: list[PolicyRule]
) -> None:
    lacking = missing(held, wanted)

    for action in EVERY_ACTION:
        if allows(wanted, action) and not allows(held, action):
            assert allows(lacking, action), f"{action} would be granted by who may not do it"


@given(st.lists(world.rules, min_size=1, max_size=3))
def test_rules_contain_themselves_and_their_parts(rules: list[PolicyRule]) -> None:
    assert missing(rules, rules) == []
    assert missing(rules, missing([], rules)) == []


@pytest.mark.parametrize(
    ("held", "wanted", "is_held"),
    [
        ("get,list pods", "get pods", True),
        ("* pods", "fly pods", True),
        ("get pods", "* pods", False),
        ("get *", "get pods/log", True),
        ("get */scale", "get deployments/scale", True),
        ("get */scale", "get deployments", False),
        ("get pods", "get pods/log", False),
    ],
)
def test_stars_hold_what_they_stand_for(held: str, wanted: str, is_held: bool) -> None:
    def rule(text: str) -> PolicyRule:
        verbs, resource = text.split()
        return PolicyRule(verbs=tuple(verbs.split(",")), groups=("",), resources=(resource,))

    assert (not missing([rule(held)], [rule(wanted)])) is is_held


def test_missing_permissions_are_reported_by_resource_with_all_their_verbs() -> None:
    wanted = PolicyRule(verbs=("b", "a"), groups=("p", "q"), resources=("y", "z"))
    named = PolicyRule(verbs=("get",), groups=("",), resources=("secrets",), names=("a", "b"))
    url = PolicyRule(verbs=("get", "post"), urls=("/x",))

    rendered = [str(rule) for rule in joined(missing([], [wanted, named, url]))]

    assert rendered == [
        '{APIGroups:["p"], Resources:["y"], Verbs:["b" "a"]}',
        '{APIGroups:["p"], Resources:["z"], Verbs:["b" "a"]}',
        '{APIGroups:["q"], Resources:["y"], Verbs:["b" "a"]}',
        '{APIGroups:["q"], Resources:["z"], Verbs:["b" "a"]}',
        '{APIGroups:[""], Resources:["secrets"], ResourceNames:["a"], Verbs:["get"]}',
        '{APIGroups:[""], Resources:["secrets"], ResourceNames:["b"], Verbs:["get"]}',
        '{NonResourceURLs:["/x"], Verbs:["get"]}',
        '{NonResourceURLs:["/x"], Verbs:["post"]}',
    ]
