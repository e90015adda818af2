"""What is decided by who one is, without any rule: the strangers' few pages, and everyone else.

``allow_authenticated`` stands where rules by role will stand.
"""

from __future__ import annotations

from proreus.server.authz.authorizer import ALLOWED, NO_OPINION, Action, Verdict
from proreus.server.registry.user import AUTHENTICATED, MASTERS

_FOR_ALL = frozenset({"/healthz", "/livez", "/readyz", "/version", "/version/"})


def allow_masters(action: Action) -> Verdict:
    return ALLOWED if MASTERS in action.user.groups else NO_OPINION


def allow_public(action: Action) -> Verdict:
    """Health and version tell nothing that needs hiding."""
    is_public = action.path in _FOR_ALL and action.verb == "get"
    return ALLOWED if is_public else NO_OPINION


def allow_authenticated(action: Action) -> Verdict:
    return ALLOWED if AUTHENTICATED in action.user.groups else NO_OPINION
