"""Random rules, bindings, users and requests over a world small enough that they often meet."""

from __future__ import annotations

from hypothesis import strategies as st

from proreus.server.authz.authorizer import Action
from proreus.server.authz.rbac.bindings import Binding, Subject
from proreus.server.authz.rbac.rules import PolicyRule
from proreus.server.registry.user import User

VERBS, GROUPS, NAMES = ["get", "list", "fly"], ["", "apps"], ["", "a", "b"]
RESOURCES, SUBRESOURCES = ["pods", "things"], ["", "scale", "log"]
NAMESPACES, ROLES, BINDINGS = ["m", "n"], ["r", "s"], ["one", "two", "three"]
PATHS = ["/a", "/a/b", "/ab", "/c"]
USERS = ["ann", "bob", "system:serviceaccount:m:acc", "system:serviceaccount:n:acc"]
USER_GROUPS = ["devs", "ops"]


def some(values: list[str], *more: str) -> st.SearchStrategy[tuple[str, ...]]:
    return st.lists(st.sampled_from([*values, *more]), min_size=1, max_size=3).map(tuple)


whole_resources = [f"{r}/{s}" if s else r for r in RESOURCES for s in SUBRESOURCES]
resource_rules = st.builds(
    PolicyRule,
    verbs=some(VERBS, "*"),
    groups=some(GROUPS, "*"),
    resources=some(whole_resources, "*", "*/scale", "pods/*"),
    names=st.lists(st.sampled_from(NAMES), max_size=2).map(tuple),
)
url_rules = st.builds(
    PolicyRule, verbs=some(VERBS, "*"), urls=some(PATHS, "*", "/a*", "/a/*", "/*/b")
)
rules = st.one_of(resource_rules, url_rules)
rule_lists = st.lists(rules, max_size=3).map(tuple)

subjects = st.one_of(
    st.builds(Subject, st.just("User"), st.sampled_from(USERS)),
    st.builds(Subject, st.just("Group"), st.sampled_from(USER_GROUPS)),
    st.builds(
        Subject, st.just("ServiceAccount"), st.just("acc"), st.sampled_from(["", *NAMESPACES])
    ),
    st.just(Subject("Robot", "ann")),
)
bindings = st.builds(
    Binding,
    namespace=st.sampled_from(["", *NAMESPACES]),
    name=st.sampled_from(BINDINGS),
    role_kind=st.sampled_from(["Role", "ClusterRole"]),
    role_name=st.sampled_from(ROLES),
    subjects=st.lists(subjects, max_size=4).map(tuple),
)
users = st.builds(
    User,
    st.sampled_from(USERS),
    st.lists(st.sampled_from(USER_GROUPS), max_size=2).map(tuple),
)
actions = st.one_of(
    st.builds(
        Action,
        user=users,
        verb=st.sampled_from(VERBS),
        group=st.sampled_from(GROUPS),
        resource=st.sampled_from(RESOURCES),
        subresource=st.sampled_from(SUBRESOURCES),
        namespace=st.sampled_from(["", *NAMESPACES]),
        name=st.sampled_from(NAMES),
    ),
    st.builds(Action, user=users, verb=st.sampled_from(VERBS), path=st.sampled_from(PATHS)),
)
