"""Acting as somebody else: who may, as whom, and what is said to those who may not."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from proreus.server.authz.authorizer import (
    ALLOWED,
    NO_OPINION,
    Action,
    Authorization,
    Chain,
    Denied,
    Verdict,
)
from proreus.server.authz.impersonation import (
    ImpersonationCheck,
    identity,
    node_name,
    service_account,
)
from proreus.server.authz.impersonation_metrics import ImpersonationMetrics
from proreus.server.prometheus import CollectorRegistry
from proreus.server.registry.user import AUTHENTICATED, MASTERS, User
from proreus.testing.virtual_clock import VirtualClock

BOB = User("bob", (AUTHENTICATED,))
ACCOUNT = "system:serviceaccount:ns:eve"


def allowing(*permissions: str) -> Authorization:
    """Permissions are ``verb resource[/subresource] [name]``."""

    def authorize(action: Action) -> Verdict:
        wanted = f"{action.verb} {action.whole_resource}"
        is_allowed = wanted in permissions or f"{wanted} {action.name}" in permissions
        return ALLOWED if is_allowed else NO_OPINION

    return Authorization(Chain.of([authorize]))


def listing(user: User = BOB) -> Action:
    return Action(user=user, verb="list", resource="pods", namespace="ns")


async def become(check: ImpersonationCheck, request: Action, wanted: User) -> User:
    """The user that the request goes on as."""
    return identity(await check.allowing_mode(request, wanted), wanted)


async def test_an_unconstrained_leave_covers_every_request() -> None:
    impersonation = ImpersonationCheck(allowing("impersonate users eve", "impersonate groups devs"))

    eve = await become(impersonation, listing(), User("eve", ("devs",)))

    assert eve == User("eve", ("devs", AUTHENTICATED))


async def test_every_part_of_the_identity_needs_leave() -> None:
    impersonation = ImpersonationCheck(allowing("impersonate users eve"))
    await become(impersonation, listing(), User("eve"))

    for wanted, what in (
        (User("eve", ("devs",)), 'resource "groups" in API group ""'),
        (User("eve", (), "7"), 'resource "uids" in API group "authentication.k8s.io"'),
        (User("eve", (), "", {"scope": ("a",)}), 'resource "userextras/scope"'),
        (User("ann"), 'users "ann" is forbidden'),
    ):
        with pytest.raises(Denied) as refused:
            await become(impersonation, listing(), wanted)
        assert what in refused.value.message


async def test_a_constrained_leave_is_for_one_verb_on_one_resource() -> None:
    leave = (
        "impersonate-on:serviceaccount:list pods",
        "impersonate:serviceaccount serviceaccounts",
    )
    impersonation = ImpersonationCheck(allowing(*leave))

    eve = await become(impersonation, listing(), User(ACCOUNT))
    with pytest.raises(Denied, match="cannot impersonate-on:serviceaccount:get resource"):
        await become(
            impersonation, Action(user=BOB, verb="get", resource="pods", name="p"), User(ACCOUNT)
        )

    accounts = ("system:serviceaccounts", "system:serviceaccounts:ns", AUTHENTICATED)
    assert eve == User(ACCOUNT, accounts)


async def test_the_refusal_of_the_mode_that_last_succeeded_is_reported() -> None:
    impersonation = ImpersonationCheck(allowing("impersonate users eve"))

    with pytest.raises(Denied, match="impersonate-on:user-info:list"):
        await become(impersonation, listing(), User("ann"))
    await become(impersonation, listing(), User("eve"))
    with pytest.raises(Denied, match='cannot impersonate resource "users"'):
        await become(impersonation, listing(), User("ann"))


async def test_a_node_has_its_group_in_the_modes_for_nodes() -> None:
    leave = ("impersonate-on:arbitrary-node:list pods", "impersonate:arbitrary-node nodes n1")

    node = await become(ImpersonationCheck(allowing(*leave)), listing(), User("system:node:n1"))

    assert node.groups == ("system:nodes", AUTHENTICATED)


async def test_a_service_account_may_be_let_act_as_the_node_it_runs_on_alone() -> None:
    leave = ("impersonate-on:associated-node:list pods", "impersonate:associated-node nodes *")
    impersonation = ImpersonationCheck(allowing(*leave))
    extra = {"authentication.kubernetes.io/node-name": ("n1",)}
    agent = User("system:serviceaccount:ns:agent", (), "", extra)

    node = await become(impersonation, listing(agent), User("system:node:n1"))
    assert node.name == "system:node:n1"
    with pytest.raises(Denied):
        await become(impersonation, listing(agent), User("system:node:n2"))


@pytest.mark.parametrize(
    ("wanted", "why"),
    [
        (User("eve", ("",)), "impersonating the empty string group is not allowed"),
        (User("eve", (MASTERS,)), "impersonating the system:masters group is not allowed"),
        (User("eve", (), "", {"scope": ("a",)}), "must be a domain-prefixed path"),
        (User("eve", (), "", {"a.io/b": ("",)}), "the empty string value in extra"),
        (User("eve", (), "", {"": ("a",)}), "the empty string key in extra"),
        (User("eve", (), "", {"A_/b": ("a",)}), "a lowercase RFC 1123 subdomain"),
    ],
)
async def test_constrained_modes_refuse_what_would_gain_too_much(wanted: User, why: str) -> None:
    leave = ("impersonate-on:user-info:list pods", "impersonate:user-info users")

    with pytest.raises(Denied) as refused:
        await become(ImpersonationCheck(allowing(*leave)), listing(), wanted)

    assert why in refused.value.message


async def test_leave_for_all_groups_is_enough_for_many() -> None:
    on, user = "impersonate-on:user-info:list pods", "impersonate:user-info users"
    many = User("eve", ("a", "b", "c", "d"), "", {"a.io/b": ("1", "2", "3", "4")})
    leave = ("impersonate:user-info groups *", "impersonate:user-info userextras/* *")

    impersonation = ImpersonationCheck(allowing(on, user, *leave))
    assert (await become(impersonation, listing(), many)).name == "eve"


@pytest.mark.parametrize(
    ("parse", "name", "found"),
    [
        (service_account, "system:serviceaccount:ns:eve", ("ns", "eve")),
        (service_account, "system:serviceaccount:ns", None),
        (service_account, "system:serviceaccount:a:b:c", None),
        (service_account, "system:serviceaccount:Not_A:eve", None),
        (service_account, "x:system:serviceaccount:ns:eve", None),
        (node_name, "system:node:n1", "n1"),
        (node_name, "system:node:", ""),
        (node_name, "system:node:Not_A", ""),
        (node_name, "n1", ""),
    ],
)
def test_names_of_accounts_and_nodes(
    parse: Callable[[str], object], name: str, found: object
) -> None:
    assert parse(name) == found


@pytest.mark.parametrize(
    ("key", "why"),
    [
        (
            "x",
            'extra.key: Invalid value: "x": must be a domain-prefixed path '
            '(such as "acme.io/foo")',
        ),
        (
            "acme.io/a b",
            'extra.key: Invalid value: "a b": Invalid path (regex used for validation is '
            "'[A-Za-z0-9/\\-._~%!$&'()*+,;=:]+')",
        ),
    ],
)  # fmt: skip
async def test_keys_of_extras_are_paths_of_a_domain(key: str, why: str) -> None:
    leave = allowing("impersonate-on:user-info:list pods", "impersonate:user-info users eve")

    with pytest.raises(Denied) as refused:
        await become(ImpersonationCheck(leave), listing(), User("eve", (), "", {key: ("a",)}))

    assert refused.value.message.endswith(
        f"at the cluster scope: impersonating an invalid key in extra is not allowed: {why}"
    )


async def test_attempts_are_counted_by_the_mode_that_lets_them_through() -> None:
    registry, clock = CollectorRegistry(), VirtualClock()
    leave = allowing("impersonate users eve")
    check = ImpersonationCheck(leave, ImpersonationMetrics(registry, clock))

    await become(check, listing(), User("eve"))
    with pytest.raises(Denied):
        await become(check, listing(), User("ann"))

    assert attempts(registry, "attempts") == {("legacy", "allowed"): 1, ("", "denied"): 1}
    assert attempts(registry, "authorization_attempts") == {
        ("user-info", "denied"): 2,
        ("legacy", "allowed"): 1,
        ("legacy", "denied"): 1,
    }


def attempts(registry: CollectorRegistry, name: str) -> dict[tuple[str, str], float]:
    return {
        (sample.labels["mode"], sample.labels["decision"]): sample.value
        for family in registry.collect()
        for sample in family.samples
        if sample.name == f"apiserver_impersonation_{name}_total"
    }
