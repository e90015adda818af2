"""Which requests a webhook or a policy is about: rules and selectors, as values. Pure.

A ``RequestTarget`` is what a rule sees of a request. Of several equivalent resources (versions of
one kind) the request's own is tried first, then for each rule in order the others.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from proreus.api.group_version import GroupVersionResource
from proreus.api.json_types import Json
from proreus.api.selectors.labels import LabelSelector
from proreus.lazy_dataclass import dataclass

_NAMESPACES = GroupVersionResource("", "v1", "namespaces")
_CONFIGURATION_GROUP = "admissionregistration.k8s.io"
_CONFIGURATION_KINDS = frozenset(
    f"{word}{what}"
    for word in ("Mutating", "Validating")
    for what in ("WebhookConfiguration", "AdmissionPolicy", "AdmissionPolicyBinding")
)


@dataclass(frozen=True, slots=True)
class RequestTarget:
    """``namespace`` of a Namespace is its own name."""

    operation: str
    resource: GroupVersionResource
    subresource: str
    namespace: str
    name: str = ""


@dataclass(frozen=True, slots=True)
class RequestRule:
    """``resources``: pairs of resource and subresource. ``names``: empty for all."""

    operations: frozenset[str]
    groups: frozenset[str]
    versions: frozenset[str]
    resources: frozenset[tuple[str, str]]
    scope: str = "*"
    names: frozenset[str] = frozenset()

    @classmethod
    def of(cls, rule: Json) -> RequestRule:
        pairs = (name.partition("/") for name in rule.get("resources") or ())
        return cls(
            frozenset(rule.get("operations") or ()),
            frozenset(rule.get("apiGroups") or ()),
            frozenset(rule.get("apiVersions") or ()),
            frozenset((resource, part) for resource, _, part in pairs),
            rule.get("scope") or "*",
            frozenset(rule.get("resourceNames") or ()),
        )

    def matches(self, target: RequestTarget) -> bool:
        resource, part = target.resource, target.subresource
        return (
            _includes(self.operations, target.operation)
            and _includes(self.groups, resource.group)
            and _includes(self.versions, resource.version)
            and self._has_resource(resource.resource, part)
            and self._has_scope(target)
            and (not self.names or target.name in self.names)
        )

    def _has_resource(self, plural: str, part: str) -> bool:
        found = self.resources
        return (
            (plural, part) in found
            or ("*", part) in found
            or (plural, "*") in found
            or ("*", "*") in found
        )

    def _has_scope(self, target: RequestTarget) -> bool:
        if self.scope == "*":
            return True
        is_cluster = not target.namespace or target.resource == _NAMESPACES
        return is_cluster == (self.scope == "Cluster")


def matched_resource(
    rules: Sequence[RequestRule], target: RequestTarget, equivalents: Iterable[GroupVersionResource]
) -> GroupVersionResource | None:
    """The resource that a rule is about and the request is for; None if no rule matches."""
    for rule in rules:
        if rule.matches(target):
            return target.resource
    others = [replace(target, resource=one) for one in equivalents if one != target.resource]
    for rule in rules:
        for other in others:
            if rule.matches(other):
                return other.resource
    return None


def selects_object(
    selector: LabelSelector, obj: Mapping[str, Any] | None, old: Mapping[str, Any] | None
) -> bool:
    """Whether the object as it was or as it will be is selected; options have no labels at all."""
    return selector.is_empty or any(
        selector.matches(labels_of(one)) for one in (obj, old) if one and "metadata" in one
    )


def labels_of(obj: Mapping[str, Any]) -> Mapping[str, str]:
    return (obj.get("metadata") or {}).get("labels") or {}


def configures_admission(group: str, kind: str) -> bool:
    """What nobody is asked about: a configuration could forbid its own repair."""
    return group == _CONFIGURATION_GROUP and kind in _CONFIGURATION_KINDS


def _includes(wanted: frozenset[str], given: str) -> bool:
    return given in wanted or "*" in wanted
