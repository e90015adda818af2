"""Which bound policies a request concerns, and with which parameters."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from proreus.api.group_version import GroupResource, GroupVersionResource
from proreus.api.json_types import JsonObject
from proreus.api.status import NotFound
from proreus.api.wire import splice
from proreus.lazy_dataclass import dataclass
from proreus.server.admission.matching import labels_of
from proreus.server.admission.policies.definition import (
    AdmissionPolicy,
    Misconfigured,
    PolicyBinding,
)
from proreus.server.admission.policies.params import PolicyParams
from proreus.server.admission.policies.source import BoundPolicy
from proreus.server.admission.request import namespace_of, target_of
from proreus.server.admission.versions import MatchedKind, ObjectVersions
from proreus.server.cel.admission import NAMESPACE
from proreus.server.cel.values import cel_value
from proreus.server.kinds.parts.request_matching import REVIEWS
from proreus.server.registry.admission import CREATE, UPDATE, Attributes
from proreus.server.registry.catalog import Catalog
from proreus.server.registry.collections import Collections
from proreus.server.watch_cache.object import CachedObject

_NAMESPACES = GroupResource("", "namespaces")
# A policy could forbid its own repair.
_EXEMPT = frozenset(
    {
        *(
            GroupResource("admissionregistration.k8s.io", f"{kind}admission{what}")
            for kind in ("mutating", "validating")
            for what in ("policies", "policybindings")
        ),
        *REVIEWS,
    }
)
_NAMESPACE_FIELDS = (
    "name", "generateName", "namespace", "uid", "resourceVersion", "generation",
    "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "labels",
    "annotations", "finalizers",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class PolicyCandidate:
    """A bound policy one of whose rules is about the request, as this resource."""

    hook: BoundPolicy
    resource: GroupVersionResource


@dataclass(frozen=True, slots=True)
class PolicyInvocation:
    """A policy to be asked, for one binding and one of its parameters."""

    policy: AdmissionPolicy
    binding: PolicyBinding
    matched: MatchedKind
    params: JsonObject | None


@dataclass(frozen=True, slots=True)
class ConfigurationFailure:
    """``binding`` None: the policy itself is wrong."""

    policy: AdmissionPolicy
    binding: PolicyBinding | None
    why: str

    @property
    def message(self) -> str:
        what = "policy" if self.binding is None else "binding"
        return f"failed to configure {what}: {self.why}"


@dataclass(frozen=True, slots=True)
class FoundInvocations:
    """In the order of the policies' names."""

    invocations: tuple[PolicyInvocation, ...]
    failures: tuple[ConfigurationFailure, ...]

    @property
    def closed_failures(self) -> Iterator[ConfigurationFailure]:
        """Of policies that refuse when they cannot be asked."""
        return (one for one in self.failures if not one.policy.fails_open)


class PolicyInvocations:
    def __init__(
        self, catalog: Catalog, collections: Collections, versions: ObjectVersions
    ) -> None:
        self._namespaces = collections.named("", "v1", "namespaces")
        self._params = PolicyParams(catalog, collections)
        self._versions = versions

    def candidates(
        self, hooks: Sequence[BoundPolicy], attributes: Attributes
    ) -> list[PolicyCandidate]:
        """By their rules alone; nothing is looked up."""
        if attributes.resource.group_resource in _EXEMPT:
            return []
        target = target_of(attributes)
        equivalents = self._versions.equivalents(attributes.resource)
        found: list[PolicyCandidate] = []
        for hook in hooks:
            resource = hook.policy.constraints.resource(target, equivalents)
            if resource is not None:
                found.append(PolicyCandidate(hook, resource))
        return found

    async def find(
        self, attributes: Attributes, candidates: Sequence[PolicyCandidate]
    ) -> FoundInvocations:
        """Raises NotFound if the request's namespace is gone."""
        labels = await self._namespace_labels(attributes)
        invocations: list[PolicyInvocation] = []
        failures: list[ConfigurationFailure] = []
        for candidate in candidates:
            policy = candidate.hook.policy
            try:
                if not policy.constraints.selects(labels, attributes.obj, attributes.old):
                    continue
                if policy.param_kind is not None:
                    self._params.check_kind(policy.param_kind)
            except Misconfigured as why:
                failures.append(ConfigurationFailure(policy, None, str(why)))
                continue
            for binding in candidate.hook.bindings:
                try:
                    invocations += await self._bound(attributes, candidate, binding, labels)
                except Misconfigured as why:
                    failures.append(ConfigurationFailure(policy, binding, str(why)))
        return FoundInvocations(tuple(invocations), tuple(failures))

    async def namespace(self, attributes: Attributes) -> Any:
        """``namespaceObject`` of expressions: null for what is in none."""
        if attributes.resource.group_resource == _NAMESPACES or not attributes.namespace:
            return None
        obj = splice.decode_item((await self._namespace(attributes.namespace)).item)
        meta = obj.get("metadata") or {}
        named = {key: meta[key] for key in _NAMESPACE_FIELDS if key in meta}
        kept = {key: obj[key] for key in ("spec", "status") if key in obj}
        return cel_value({"metadata": named, **kept}, NAMESPACE)

    async def _bound(
        self,
        attributes: Attributes,
        candidate: PolicyCandidate,
        binding: PolicyBinding,
        labels: Mapping[str, str] | None,
    ) -> list[PolicyInvocation]:
        if binding.constraints is not None:
            equivalents = self._versions.equivalents(attributes.resource)
            if binding.constraints.resource(target_of(attributes), equivalents) is None:
                return []
            if not binding.constraints.selects(labels, attributes.obj, attributes.old):
                return []
        policy = candidate.hook.policy
        found: Sequence[JsonObject | None] = [None]
        if policy.param_kind is not None and binding.params is not None:
            where = namespace_of(attributes)
            found = await self._params.find(policy.param_kind, binding.params, where)
        matched = self._versions.matched(attributes, candidate.resource)
        return [PolicyInvocation(policy, binding, matched, one) for one in found]

    async def _namespace_labels(self, attributes: Attributes) -> Mapping[str, str] | None:
        is_namespace = attributes.resource.plural == "namespaces"
        if not attributes.namespace and not is_namespace:
            return None
        if is_namespace and not attributes.subresource and attributes.operation in (CREATE, UPDATE):
            assert attributes.obj is not None, "what is written is there"
            return labels_of(attributes.obj)
        return (await self._namespace(namespace_of(attributes))).labels

    async def _namespace(self, name: str) -> CachedObject:
        cached = self._namespaces.cache.peek(name)
        if cached is not None:
            return cached
        stored = await self._namespaces.store.get(name)
        if stored is None:
            raise NotFound.of(_NAMESPACES, name)
        return self._namespaces.cache.read(stored)
