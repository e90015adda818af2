"""The attributes of an action, and the decision whether it is allowed.

An authorizer allows, denies, or has no opinion; then the next one is asked, and no opinion at the
end is a refusal. The built-in ones know at once; one that asks another program returns what its
verdict is to be awaited from. A decision for which nobody was asked outside is made without a wait.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from enum import Enum, auto

import msgspec

from proreus.api.go_text import quoted
from proreus.api.group_version import GroupResource
from proreus.api.selectors import FieldSelector
from proreus.api.status import Forbidden
from proreus.lazy_dataclass import dataclass
from proreus.server.authz.rbac.rules import EVERYTHING, Held, aggregated
from proreus.server.registry.user import User


class Action(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """``path`` is set for what is no resource. The selectors are those of a request for several
    objects, in their query form and as they were sent: they may not be understood."""

    user: User
    verb: str
    group: str = ""
    version: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    path: str = ""
    field_selector: str = ""
    label_selector: str = ""

    @property
    def whole_resource(self) -> str:
        return f"{self.resource}/{self.subresource}" if self.subresource else self.resource

    @property
    def selected_node(self) -> str:
        """The node whose objects are selected, "" if there is none."""
        try:
            return FieldSelector.parse(self.field_selector).pinned("spec.nodeName") or ""
        except ValueError:
            return ""


class Decision(Enum):
    ALLOW = auto()
    DENY = auto()
    NO_OPINION = auto()


@dataclass(frozen=True, slots=True)
class Verdict:
    """``error``: why an authorizer could not decide; unless another one allows, it refuses."""

    decision: Decision
    reason: str = ""
    error: str = ""


class Denied(Forbidden):
    """Refused by an authorizer, before the request's content was read."""


PossibleVerdict = Verdict | Awaitable[Verdict]
Authorizer = Callable[[Action], PossibleVerdict]
# Kubernetes escapes what requesters chose, in case a browser shows it.
_HTML = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})
ALLOWED = Verdict(Decision.ALLOW)
NO_OPINION = Verdict(Decision.NO_OPINION)


class ChainLink:
    """One authorizer of a chain, and how often it decided."""

    __slots__ = ("allowed", "authorize", "denied")

    def __init__(self, authorize: Authorizer) -> None:
        self.authorize = authorize
        self.allowed = self.denied = 0

    def ends_with(self, verdict: Verdict) -> bool:
        """Whether this authorizer's verdict is the chain's. Counts it."""
        match verdict.decision:
            case Decision.ALLOW:
                self.allowed += 1
                return True
            case Decision.DENY:
                self.denied += 1
                return True
            case Decision.NO_OPINION:
                return False


RulesOf = Callable[[User, str], Held]


def everything(_: User, __: str) -> Held:
    return Held(list(EVERYTHING), [])


def nothing(_: User, __: str) -> Held:
    return Held([], [])


@dataclass(frozen=True, slots=True)
class Chain:
    """Authorizers in order, and what those that have rules say of a user in a namespace."""

    links: tuple[ChainLink, ...]
    rules: tuple[RulesOf, ...] = ()

    @classmethod
    def of(cls, authorizers: Sequence[Authorizer], *rules: RulesOf) -> Chain:
        return cls(tuple(map(ChainLink, authorizers)), rules)


class Authorization:
    """Decides by the ``chain`` in force. Only its owner replaces it, between two decisions; one
    that waits goes on with the chain that it began with."""

    def __init__(self, chain: Chain) -> None:
        self.chain = chain

    def decide(self, action: Action) -> PossibleVerdict:
        links = self.chain.links
        heard: tuple[Verdict, ...] = ()
        for link in links:
            verdict = link.authorize(action)
            if verdict is NO_OPINION:
                continue
            if not isinstance(verdict, Verdict):
                return _decide_later(action, links[links.index(link) :], verdict, heard)
            if link.ends_with(verdict):
                return verdict
            heard += (verdict,)
        return _joined(heard) if heard else NO_OPINION

    async def decided(self, action: Action) -> Verdict:
        verdict = self.decide(action)
        return verdict if isinstance(verdict, Verdict) else await verdict

    async def allows(self, action: Action) -> bool:
        return (await self.decided(action)).decision is Decision.ALLOW

    async def check(self, action: Action) -> None:
        """Raises Denied, also if an authorizer failed."""
        verdict = await self.decided(action)
        if verdict.decision is not Decision.ALLOW:
            raise forbidden(action, verdict.reason)

    def rules_of(self, user: User, namespace: str) -> Held:
        """What a user may do in a namespace, as far as rules can tell."""
        found = [rules_of(user, namespace) for rules_of in self.chain.rules]
        return Held(
            [rule for held in found for rule in held.rules],
            [error for held in found for error in held.errors],
            any(held.is_incomplete for held in found),
        )

    def __repr__(self) -> str:
        return f"<Authorization by {len(self.chain.links)} authorizers>"


async def _decide_later(
    action: Action,
    links: Sequence[ChainLink],
    pending: Awaitable[Verdict],
    heard: tuple[Verdict, ...],
) -> Verdict:
    """From the first of the links, whose verdict is pending, to the end of the chain."""
    verdict = await pending
    for link in links:
        if link is not links[0]:
            found = link.authorize(action)
            verdict = found if isinstance(found, Verdict) else await found
        if link.ends_with(verdict):
            return verdict
        heard += (verdict,)
    return _joined(heard)


def _joined(heard: Sequence[Verdict]) -> Verdict:
    """What those said who had no opinion."""
    reasons = [verdict.reason for verdict in heard if verdict.reason]
    errors = [verdict.error for verdict in heard if verdict.error]
    error = aggregated(errors) if errors else ""
    return Verdict(Decision.NO_OPINION, "\n".join(reasons), error)


def escaped(text: str) -> str:
    return text.translate(_HTML)


def forbidden(action: Action, reason: str = "") -> Denied:
    who = f"User {quoted(action.user.name)} cannot {action.verb}"
    tail = f": {reason}" if reason else ""
    if action.path:
        text = escaped(f"{who} path {quoted(action.path)}")
        return Denied(f"forbidden: {text}{tail}", details={})
    namespace = quoted(action.namespace)
    where = f"in the namespace {namespace}" if action.namespace else "at the cluster scope"
    what = f"resource {quoted(action.whole_resource)} in API group {quoted(action.group)}"
    text = escaped(f"{who} {what} {where}")
    resource = GroupResource(action.group, action.resource)
    denied = Forbidden.of(resource, action.name, f"{text}{tail}")
    return Denied(denied.message, details=denied.details)
