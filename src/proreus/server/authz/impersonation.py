"""Acting as somebody else, which must itself be allowed (Kubernetes: constrained impersonation).

A requester may be allowed to do so in one of several modes, tried in order. The constrained ones
ask twice: ``impersonate-on:MODE:VERB`` for the request itself, ``impersonate:MODE`` for each part
of the identity. The last one asks ``impersonate`` for each part, whatever the request. The mode
that last let a requester through is tried first; the refusal of the first one tried is reported.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from msgspec.structs import replace as changed

from proreus.api.field_error import FieldError, invalid
from proreus.api.values import names
from proreus.server.authz.authorizer import Action, Authorization, Denied, forbidden
from proreus.server.authz.impersonation_metrics import ImpersonationMetrics
from proreus.server.authz.rbac.rules import aggregated
from proreus.server.registry.user import (
    ANONYMOUS_NAME,
    AUTHENTICATED,
    MASTERS,
    UNAUTHENTICATED,
    User,
)

_ASSOCIATED_NODE, _ANY_NODE = "associated-node", "arbitrary-node"
_SERVICE_ACCOUNT, _USER_INFO, _UNCONSTRAINED = "serviceaccount", "user-info", ""
_MODES = (_ASSOCIATED_NODE, _ANY_NODE, _SERVICE_ACCOUNT, _USER_INFO, _UNCONSTRAINED)
_AUTHENTICATION = "authentication.k8s.io"
_NODE_KEY = "authentication.kubernetes.io/node-name"
_PATH = re.compile(r"[A-Za-z0-9/\-._~%!$&'()*+,;=:]+")  # of what may be in a URL
_REQUESTERS_MAX = 10_000
_MANY = 4  # parts of one kind, from which on leave for all of them is asked for first


class ImpersonationCheck:
    def __init__(
        self, authorization: Authorization, metrics: ImpersonationMetrics | None = None
    ) -> None:
        self._authorization = authorization
        self._metrics = metrics
        self._last: dict[str, str] = {}  # requester's name → mode

    async def allowing_mode(self, request: Action, wanted: User) -> str:
        """The mode in which the requester may act as the other. Raises Denied."""
        metrics = self._metrics
        if metrics is None:
            return await self._first_allowing(request, wanted)
        since, mode = metrics.now(), None
        try:
            mode = await self._first_allowing(request, wanted)
        finally:
            metrics.attempted(mode, since)
        return mode

    async def _first_allowing(self, request: Action, wanted: User) -> str:
        requester = request.user
        last = self._last.get(requester.name)
        refusal: Denied | None = None
        for mode in _MODES if last is None else (last, *(m for m in _MODES if m != last)):
            if not _applies(mode, wanted, requester):
                continue
            try:
                await self._check(mode, request, wanted)
            except Denied as error:
                refusal = refusal or error
                continue
            self._remember(requester.name, mode)
            return mode
        assert refusal is not None, "the unconstrained mode always applies"
        raise refusal

    def _remember(self, requester: str, mode: str) -> None:
        self._last.pop(requester, None)
        self._last[requester] = mode
        if len(self._last) > _REQUESTERS_MAX:
            del self._last[next(iter(self._last))]

    async def _check(self, mode: str, request: Action, wanted: User) -> None:
        if mode:
            verb = f"impersonate-on:{mode}:{request.verb}"
            await self._ask(mode, changed(request, verb=verb))
        verb = f"impersonate:{mode}" if mode else "impersonate"
        await self._ask(mode, _name_action(mode, request.user, verb, wanted.name))
        extras = Action(user=request.user, verb=verb, group=_AUTHENTICATION, resource="userextras")
        if wanted.uid:
            await self._ask(mode, changed(extras, resource="uids", name=wanted.uid))
        if wanted.groups:
            group = _AUTHENTICATION if mode else ""
            await self._check_groups(mode, changed(extras, group=group, resource="groups"), wanted)
        if wanted.extra:
            await self._check_extra(mode, extras, wanted)

    async def _check_groups(self, mode: str, action: Action, wanted: User) -> None:
        if mode:
            if "" in wanted.groups:
                raise forbidden(action, "impersonating the empty string group is not allowed")
            if MASTERS in wanted.groups:
                why = f"impersonating the {MASTERS} group is not allowed"
                raise forbidden(changed(action, name=MASTERS), why)
            if len(wanted.groups) >= _MANY and await self._may(mode, changed(action, name="*")):
                return
        for group in wanted.groups:
            await self._ask(mode, changed(action, name=group))

    async def _check_extra(self, mode: str, action: Action, wanted: User) -> None:
        count = sum(map(len, wanted.extra.values()))
        if mode:
            for why in _extra_faults(wanted):
                raise forbidden(action, why)
            if count >= _MANY and await self._may(mode, changed(action, subresource="*", name="*")):
                return
        for key, values in wanted.extra.items():
            for value in values:
                await self._ask(mode, changed(action, subresource=key, name=value))

    async def _may(self, mode: str, action: Action) -> bool:
        try:
            await self._ask(mode, action)
        except Denied:
            return False
        return True

    async def _ask(self, mode: str, action: Action) -> None:
        """Raises Denied."""
        metrics = self._metrics
        since = metrics.now() if metrics is not None else 0.0
        is_allowed = False
        try:
            await self._authorization.check(action)
            is_allowed = True
        finally:
            if metrics is not None:
                metrics.checked(mode, since, is_allowed=is_allowed)


def identity(mode: str, wanted: User) -> User:
    return replace(wanted, groups=_groups(mode, wanted))


def constraint_of(mode: str) -> str:
    """The verb that a mode asks for, "" for the one without constraints."""
    return f"impersonate:{mode}" if mode else ""


def _applies(mode: str, wanted: User, requester: User) -> bool:
    node, account = node_name(wanted.name), service_account(wanted.name)
    is_name_only = not (wanted.uid or wanted.groups or wanted.extra)
    match mode:
        case "associated-node":
            own = requester.extra.get(_NODE_KEY) or ()
            is_account = service_account(requester.name) is not None
            return is_name_only and bool(node) and is_account and tuple(own) == (node,)
        case "arbitrary-node":
            return is_name_only and bool(node)
        case "serviceaccount":
            return is_name_only and account is not None
        case "user-info":
            return not node and account is None
        case _:
            return True


def _name_action(mode: str, requester: User, verb: str, name: str) -> Action:
    group = _AUTHENTICATION if mode else ""
    action = Action(user=requester, verb=verb, group=group, resource="users", name=name)
    if mode and (node := node_name(name)):
        # Leave for the node one runs on does not depend on which one that is.
        return changed(action, resource="nodes", name="*" if mode == _ASSOCIATED_NODE else node)
    if (account := service_account(name)) is not None:
        return changed(action, resource="serviceaccounts", namespace=account[0], name=account[1])
    return action


def _groups(mode: str, wanted: User) -> tuple[str, ...]:
    """Nodes and service accounts have known groups; everybody but anonymous is authenticated."""
    groups = wanted.groups
    account = service_account(wanted.name)
    if mode and node_name(wanted.name):
        groups = ("system:nodes",)
    elif account is not None and not groups:
        groups = ("system:serviceaccounts", f"system:serviceaccounts:{account[0]}")
    if wanted.name == ANONYMOUS_NAME:
        return groups if UNAUTHENTICATED in groups else (*groups, UNAUTHENTICATED)
    if AUTHENTICATED in groups or UNAUTHENTICATED in groups:
        return groups
    return (*groups, AUTHENTICATED)


def service_account(user_name: str) -> tuple[str, str] | None:
    """Namespace and name of the service account that a user name stands for."""
    prefix, _, rest = user_name.partition("system:serviceaccount:")
    namespace, _, name = rest.partition(":")
    if prefix or not rest or names.dns_label(namespace) or names.dns_subdomain(name):
        return None
    return namespace, name


def node_name(user_name: str) -> str:
    """The node that a user name stands for, "" if none."""
    prefix, _, name = user_name.partition("system:node:")
    return "" if prefix or not name or names.dns_subdomain(name) else name


def _extra_faults(wanted: User) -> Iterator[str]:
    for key, values in wanted.extra.items():
        if not key:
            yield "impersonating the empty string key in extra is not allowed"
        if wrong := _key_faults(key):
            why = aggregated(list(map(str, wrong)))
            yield f"impersonating an invalid key in extra is not allowed: {why}"
        if "" in values:
            yield "impersonating the empty string value in extra is not allowed"


def _key_faults(key: str) -> list[FieldError]:
    """Of what is no path of a domain."""
    host, _, path = key.partition("/")
    if not host or not path:
        return [invalid("extra.key", key, 'must be a domain-prefixed path (such as "acme.io/foo")')]
    found = [invalid("extra.key", host, why) for why in names.dns_subdomain(host)]
    if not _PATH.fullmatch(path):
        why = f"Invalid path (regex used for validation is '{_PATH.pattern}')"
        found.append(invalid("extra.key", path, why))
    return found
