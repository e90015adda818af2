"""Who may do what."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Sequence

import pytest

from proreus.api.status import Forbidden
from proreus.server.authz.authorizer import (
    ALLOWED,
    NO_OPINION,
    Action,
    Authorization,
    Chain,
    Decision,
    Verdict,
    forbidden,
)
from proreus.server.authz.builtin_authorizers import (
    allow_authenticated,
    allow_masters,
    allow_public,
)
from proreus.server.registry.user import ANONYMOUS, AUTHENTICATED, MASTERS, User

ADMIN = User("admin", (MASTERS, AUTHENTICATED))
ALICE = User("alice", (AUTHENTICATED,))


@pytest.mark.parametrize(
    ("user", "path", "allowed"),
    [
        (ADMIN, "/metrics", True),
        (ALICE, "/metrics", True),
        (ANONYMOUS, "/healthz", True),
        (ANONYMOUS, "/version", True),
        (ANONYMOUS, "/metrics", False),
        (ANONYMOUS, "/apis", False),
        (User("nobody"), "/apis", False),
    ],
)
def test_groups_and_paths_decide_without_rules(user: User, path: str, allowed: bool) -> None:
    authorization = Authorization(Chain.of([allow_masters, allow_public, allow_authenticated]))
    action = Action(user=user, verb="get", path=path)

    assert (authorization.decide(action) == ALLOWED) is allowed


async def test_the_first_who_decides_is_heard() -> None:
    def stern(_: Action) -> Verdict:
        return Verdict(Decision.DENY, "closed today")

    authorization = Authorization(Chain.of([silent, stern, allow_masters]))

    with pytest.raises(Forbidden, match="closed today"):
        await authorization.check(Action(user=ADMIN, verb="get", path="/"))


async def after_a_while(verdict: Verdict) -> Verdict:
    await asyncio.sleep(0)
    return verdict


def silent(_: Action) -> Verdict:
    return NO_OPINION


def test_a_decision_that_nobody_outside_is_asked_for_is_made_without_a_wait() -> None:
    authorization = Authorization(Chain.of([allow_masters, lambda _: after_a_while(ALLOWED)]))

    assert authorization.decide(Action(user=ADMIN, verb="get", path="/")) == ALLOWED


DENIED = Verdict(Decision.DENY, "no")
BROKEN = Verdict(Decision.NO_OPINION, "", "it is down")
MEANT = Verdict(Decision.NO_OPINION, "not mine")


@pytest.mark.parametrize(
    ("said", "wanted"),
    [
        ([NO_OPINION, ALLOWED, DENIED], ALLOWED),
        ([MEANT, DENIED, ALLOWED], DENIED),
        ([BROKEN, ALLOWED], ALLOWED),
        ([BROKEN, MEANT], Verdict(Decision.NO_OPINION, "not mine", "it is down")),
        ([BROKEN, BROKEN, MEANT], Verdict(Decision.NO_OPINION, "not mine", "it is down")),
        ([NO_OPINION, NO_OPINION], NO_OPINION),
    ],
)
@pytest.mark.parametrize("waits", list(itertools.product([False, True], repeat=3)))
async def test_who_must_be_waited_for_is_heard_in_the_same_order(
    said: list[Verdict], wanted: Verdict, waits: Sequence[bool]
) -> None:
    authorizers = [
        (lambda _, v=verdict: after_a_while(v)) if waiting else (lambda _, v=verdict: v)
        for verdict, waiting in zip(said, waits, strict=False)
    ]

    authorization = Authorization(Chain.of(authorizers))

    assert await authorization.decided(Action(user=ALICE, verb="get", path="/")) == wanted
    decisions = [link.allowed + link.denied for link in authorization.chain.links]
    assert sum(decisions) == (wanted.decision is not Decision.NO_OPINION)


@pytest.mark.parametrize(
    ("action", "message"),
    [
        (
            Action(user=ALICE, verb="get", resource="pods", namespace="n", name="p"),
            'pods "p" is forbidden: User "alice" cannot get resource "pods" in API group "" '
            'in the namespace "n"',
        ),
        (
            Action(user=ALICE, verb="update", group="apps", resource="deployments",
                   subresource="scale"),
            'deployments.apps is forbidden: User "alice" cannot update resource '
            '"deployments/scale" in API group "apps" at the cluster scope',
        ),
        (
            Action(user=ALICE, verb="get", path="/x"),
            'forbidden: User "alice" cannot get path "/x"',
        ),
    ],
)  # fmt: skip
def test_a_refusal_says_who_may_not_do_what_where(action: Action, message: str) -> None:
    assert forbidden(action).message == message
