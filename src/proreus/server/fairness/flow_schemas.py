"""Which FlowSchema a request belongs to, and to which of its flows. Pure.

Of the schemas that match, the one with the lowest precedence is taken, and among equals the one
whose name comes first. All is compared as kube-apiserver compares it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import NamedTuple

from proreus.api.json_types import Json
from proreus.lazy_dataclass import dataclass
from proreus.server.registry.user import User

_ALL = "*"
_ACCOUNT = "system:serviceaccount:"


class Distinguisher(StrEnum):
    """What makes two requests of one schema belong to different flows."""

    NONE = ""
    BY_USER = "ByUser"
    BY_NAMESPACE = "ByNamespace"


class Requested(NamedTuple):  # made and hashed for every request: a dataclass takes four times that
    """What schemas look at. ``path`` is set, and the rest empty, if it is no resource's."""

    verb: str
    group: str = ""
    resource: str = ""  # with its subresource after a slash
    namespace: str = ""
    path: str = ""


@dataclass(frozen=True, slots=True)
class ResourceRule:
    verbs: frozenset[str]
    groups: frozenset[str]
    resources: frozenset[str]
    namespaces: frozenset[str]
    cluster_scope: bool

    def matches(self, asked: Requested) -> bool:
        return (
            _has(self.verbs, asked.verb)
            and _has(self.groups, asked.group)
            and _has(self.resources, asked.resource)
            and (_has(self.namespaces, asked.namespace) if asked.namespace else self.cluster_scope)
        )


@dataclass(frozen=True, slots=True)
class UrlRule:
    verbs: frozenset[str]
    urls: tuple[str, ...]

    def matches(self, asked: Requested) -> bool:
        return _has(self.verbs, asked.verb) and any(
            _matches_url(url, asked.path) for url in self.urls
        )


@dataclass(frozen=True, slots=True)
class FlowRule:
    """Users, groups and service accounts (``namespace:name`` or ``namespace:*``), and what for."""

    users: frozenset[str]
    groups: frozenset[str]
    accounts: frozenset[str]
    resource_rules: tuple[ResourceRule, ...]
    url_rules: tuple[UrlRule, ...]

    def concerns(self, user: User) -> bool:
        if _has(self.users, user.name) or _ALL in self.groups:
            return True
        if not self.groups.isdisjoint(user.groups):
            return True
        if not self.accounts or not user.name.startswith(_ACCOUNT):
            return False
        account = user.name[len(_ACCOUNT) :]
        return account in self.accounts or f"{account.partition(':')[0]}:*" in self.accounts

    def matches(self, asked: Requested) -> bool:
        rules: Sequence[ResourceRule | UrlRule] = (
            self.url_rules if asked.path else self.resource_rules
        )
        return any(rule.matches(asked) for rule in rules)


@dataclass(frozen=True, slots=True)
class FlowSchema:
    name: str
    uid: str
    precedence: int
    level: str
    distinguisher: Distinguisher
    rules: tuple[FlowRule, ...]

    @classmethod
    def of(cls, obj: Json) -> FlowSchema:
        """Of a stored object. Raises KeyError, TypeError or ValueError for one that is none."""
        metadata, spec = obj["metadata"], obj["spec"]
        return cls(
            name=metadata["name"],
            uid=metadata.get("uid", ""),
            precedence=int(spec["matchingPrecedence"]),
            level=spec["priorityLevelConfiguration"]["name"],
            distinguisher=Distinguisher((spec.get("distinguisherMethod") or {}).get("type", "")),
            rules=tuple(_rule(rule) for rule in spec.get("rules") or ()),
        )

    def matches(self, user: User, asked: Requested) -> bool:
        return any(rule.concerns(user) and rule.matches(asked) for rule in self.rules)

    def flow(self, user: User, namespace: str) -> str:
        match self.distinguisher:
            case Distinguisher.BY_USER:
                return user.name
            case Distinguisher.BY_NAMESPACE:
                return namespace
            case Distinguisher.NONE:
                return ""


def in_order(schemas: Iterable[FlowSchema]) -> list[FlowSchema]:
    return sorted(schemas, key=lambda schema: (schema.precedence, schema.name))


def first_match(ordered: Iterable[FlowSchema], user: User, asked: Requested) -> FlowSchema | None:
    return next((schema for schema in ordered if schema.matches(user, asked)), None)


def _rule(rule: Json) -> FlowRule:
    users: set[str] = set()
    groups: set[str] = set()
    accounts: set[str] = set()
    for subject in rule.get("subjects") or ():
        match subject["kind"]:
            case "User":
                users.add(subject["user"]["name"])
            case "Group":
                groups.add(subject["group"]["name"])
            case "ServiceAccount":
                account = subject["serviceAccount"]
                accounts.add(f"{account['namespace']}:{account['name']}")
    return FlowRule(
        users=frozenset(users),
        groups=frozenset(groups),
        accounts=frozenset(accounts),
        resource_rules=tuple(
            ResourceRule(
                verbs=frozenset(entry.get("verbs") or ()),
                groups=frozenset(entry.get("apiGroups") or ()),
                resources=frozenset(entry.get("resources") or ()),
                namespaces=frozenset(entry.get("namespaces") or ()),
                cluster_scope=bool(entry.get("clusterScope")),
            )
            for entry in rule.get("resourceRules") or ()
        ),
        url_rules=tuple(
            UrlRule(frozenset(entry.get("verbs") or ()), tuple(entry.get("nonResourceURLs") or ()))
            for entry in rule.get("nonResourceRules") or ()
        ),
    )


def _has(values: frozenset[str], value: str) -> bool:
    return value in values or _ALL in values


def _matches_url(pattern: str, path: str) -> bool:
    """A star at the end stands for the rest; a path below a wildcard's folder is not the folder."""
    if pattern.endswith(_ALL):
        return path.startswith(pattern[:-1])
    return path == pattern
