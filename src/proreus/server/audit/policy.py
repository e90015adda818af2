"""Which requests are recorded, in how much detail and at which stages: the first rule that matches.

Pure. A rule is compiled to sets when it is made, so that one that does not match costs a few
look-ups.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field
from enum import StrEnum

from proreus.api.wire.path import ApiPath, Path
from proreus.lazy_dataclass import dataclass
from proreus.server.registry.user import User


class Level(StrEnum):
    """How much is recorded; each level includes what those before it record."""

    NONE = "None"
    METADATA = "Metadata"
    REQUEST = "Request"
    REQUEST_RESPONSE = "RequestResponse"
    __hash__ = str.__hash__  # Enum's is slow, and every request is counted by its level

    @property
    def has_request(self) -> bool:
        return self is Level.REQUEST or self is Level.REQUEST_RESPONSE


class Stage(StrEnum):
    """When an event is recorded. ResponseStarted is for streams, such as watches, only."""

    REQUEST_RECEIVED = "RequestReceived"
    RESPONSE_STARTED = "ResponseStarted"
    RESPONSE_COMPLETE = "ResponseComplete"
    PANIC = "Panic"
    __hash__ = str.__hash__


@dataclass(frozen=True, slots=True)
class Recording:
    """What is recorded of one request."""

    level: Level = Level.NONE
    omit_stages: frozenset[Stage] = frozenset()
    omit_managed_fields: bool = False


@dataclass(frozen=True, slots=True)
class GroupResources:
    """``pods``, ``pods/log``, ``*``, ``pods/*``, ``*/scale``; none at all is the whole group, which
    may be ``*`` for every one."""

    group: str = ""
    resources: tuple[str, ...] = ()
    resource_names: frozenset[str] = frozenset()
    _is_all: bool = field(init=False, repr=False)
    _listed: frozenset[str] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        is_all = not self.resources or "*" in self.resources
        object.__setattr__(self, "_is_all", is_all)
        object.__setattr__(self, "_listed", frozenset(self.resources))

    def matches(self, target: ApiPath) -> bool:
        if self.group not in (target.group, "*"):
            return False
        if self.resource_names and target.name not in self.resource_names:
            return False
        if self._is_all:
            return True
        resource, subresource, listed = target.resource, target.subresource, self._listed
        if f"{resource}/*" in listed:  # in Kubernetes, too, this includes the resource itself
            return True
        if not subresource:
            return resource in listed
        return f"{resource}/{subresource}" in listed or f"*/{subresource}" in listed


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditRule:
    """Matches what all of its lists match; an empty list matches everything."""

    recording: Recording
    users: frozenset[str] = frozenset()
    user_groups: frozenset[str] = frozenset()
    verbs: frozenset[str] = frozenset()
    namespaces: frozenset[str] = frozenset()  # "" is what has no namespace
    resources: tuple[GroupResources, ...] = ()
    non_resource_urls: tuple[str, ...] = ()

    def matches(self, user: User | None, verb: str, target: Path, path: str) -> bool:
        """``user`` None: one that could not be authenticated."""
        if self.users and (user is None or user.name not in self.users):
            return False
        if self.user_groups and (user is None or self.user_groups.isdisjoint(user.groups)):
            return False
        if self.verbs and verb not in self.verbs:
            return False
        if self.namespaces or self.resources:
            return isinstance(target, ApiPath) and self._matches_resource(target)
        if self.non_resource_urls:
            return not isinstance(target, ApiPath) and any(
                _matches_path(path, url) for url in self.non_resource_urls
            )
        return True

    def _matches_resource(self, target: ApiPath) -> bool:
        if self.namespaces and target.namespace not in self.namespaces:
            return False
        return not self.resources or any(each.matches(target) for each in self.resources)


class Policy:
    """What no rule matches is not recorded."""

    def __init__(self, rules: Iterable[AuditRule]) -> None:
        self.rules = tuple(rules)

    def evaluate(self, user: User | None, verb: str, target: Path, path: str) -> Recording:
        for rule in self.rules:
            if rule.matches(user, verb, target, path):
                return rule.recording
        return _NOT_RECORDED

    def __repr__(self) -> str:
        return f"<Policy of {len(self.rules)} rules>"


_NOT_RECORDED = Recording()


def _matches_path(path: str, url: str) -> bool:
    return url in ("*", path) or (url.endswith("*") and path.startswith(url.rstrip("*")))
