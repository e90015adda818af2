"""Authorizers without rules: system:masters, public paths, AlwaysAllow and AlwaysDeny."""

from __future__ import annotations

from proreus.server.authz.authorizer import ALLOWED, NO_OPINION, Action, Decision, Verdict
from proreus.server.registry.user import AUTHENTICATED, MASTERS

_PUBLIC = frozenset({"/healthz", "/livez", "/readyz", "/version", "/version/"})
_FORBIDDEN = Verdict(Decision.NO_OPINION, "Everything is forbidden.")


def allow_masters(action: Action) -> Verdict:
    return ALLOWED if MASTERS in action.user.groups else NO_OPINION


def allow_public(action: Action) -> Verdict:
    """Health and version, without credentials."""
    is_public = action.path in _PUBLIC and action.verb == "get"
    return ALLOWED if is_public else NO_OPINION


def allow_authenticated(action: Action) -> Verdict:
    """The mode AlwaysAllow: whoever proved who they are may do everything."""
    return ALLOWED if AUTHENTICATED in action.user.groups else NO_OPINION


def always_deny(_: Action) -> Verdict:
    """The mode AlwaysDeny, which has no opinion: a later authorizer may allow."""
    return _FORBIDDEN
