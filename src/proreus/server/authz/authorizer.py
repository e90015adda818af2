"""The question every request is put to, and who answers it.

An authorizer says yes, no, or nothing; nothing goes to the next one, and nothing at the end is no.
None has anything to wait for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum, auto

import msgspec

from proreus.api.group_version import GroupResource
from proreus.api.status import Forbidden
from proreus.server.registry.user import User


class Action(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """``path`` is set for what is no resource."""

    user: User
    verb: str
    group: str = ""
    version: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    path: str = ""

    @property
    def whole_resource(self) -> str:
        return f"{self.resource}/{self.subresource}" if self.subresource else self.resource


class Decision(Enum):
    ALLOW = auto()
    DENY = auto()
    NO_OPINION = auto()


@dataclass(frozen=True, slots=True)
class Verdict:
    decision: Decision
    reason: str = ""


class Denied(Forbidden):
    """Forbidden before anybody looked at the request's content."""


Authorizer = Callable[[Action], Verdict]
ALLOWED = Verdict(Decision.ALLOW)
NO_OPINION = Verdict(Decision.NO_OPINION)


class Authorization:
    def __init__(self, authorizers: Sequence[Authorizer]) -> None:
        self._authorizers = tuple(authorizers)

    def judge(self, action: Action) -> Verdict:
        for authorizer in self._authorizers:
            verdict = authorizer(action)
            if verdict.decision is not Decision.NO_OPINION:
                return verdict
        return NO_OPINION

    def check(self, action: Action) -> None:
        """Raises Forbidden."""
        verdict = self.judge(action)
        if verdict.decision is not Decision.ALLOW:
            raise forbidden(action, verdict.reason)


def forbidden(action: Action, reason: str = "") -> Denied:
    who = f'User "{action.user.name}" cannot {action.verb}'
    tail = f": {reason}" if reason else ""
    if action.path:
        return Denied(f'forbidden: {who} path "{action.path}"{tail}', details={})
    where = f'in the namespace "{action.namespace}"' if action.namespace else "at the cluster scope"
    text = f'{who} resource "{action.whole_resource}" in API group "{action.group}" {where}{tail}'
    denied = Forbidden.of(GroupResource(action.group, action.resource), action.name, text)
    return Denied(denied.message, details=denied.details)
