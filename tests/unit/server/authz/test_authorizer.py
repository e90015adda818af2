"""Who may do what."""

from __future__ import annotations

import pytest

from proreus.api.status import Forbidden
from proreus.server.authz.authorizer import (
    ALLOWED,
    NO_OPINION,
    Action,
    Authorization,
    Decision,
    Verdict,
    forbidden,
)
from proreus.server.authz.standing import allow_authenticated, allow_masters, allow_public
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
def test_standing_alone_decides(user: User, path: str, allowed: bool) -> None:
    authorization = Authorization([allow_masters, allow_public, allow_authenticated])
    action = Action(user=user, verb="get", path=path)

    assert (authorization.judge(action) == ALLOWED) is allowed


def test_the_first_who_decides_is_heard() -> None:
    def silent(_: Action) -> Verdict:
        return NO_OPINION

    def stern(_: Action) -> Verdict:
        return Verdict(Decision.DENY, "closed today")

    authorization = Authorization([silent, stern, allow_masters])

    with pytest.raises(Forbidden, match="closed today"):
        authorization.check(Action(user=ADMIN, verb="get", path="/"))


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
