"""The policies of a server and their bindings, kept equal to their watch caches.

Receives: every change of the two kinds, in the turn in which its cache applies it, so that a write
that follows an event is admitted by it. Hands on: ``BoundPolicy``. Without policies it costs
nothing.
"""

from __future__ import annotations

from collections.abc import Callable

from proreus.api.wire import splice
from proreus.lazy_dataclass import dataclass
from proreus.server.admission.policies.definition import AdmissionPolicy, PolicyBinding
from proreus.server.registry.collections import Collections
from proreus.server.watch_cache.cache_follower import CacheFollower
from proreus.server.watch_cache.object import CachedObject

GROUP = "admissionregistration.k8s.io"
_UNREADABLE = "admission policy or binding is unreadable and has no effect"


@dataclass(frozen=True, slots=True)
class BoundPolicy:
    """A policy that is bound: without a binding it does nothing."""

    policy: AdmissionPolicy
    bindings: tuple[PolicyBinding, ...]


class PolicySource:
    """``hooks``: bound policies, in the order of their names."""

    def __init__(self, changed: Callable[[], None]) -> None:
        """``changed`` is called after every change."""
        self._changed = changed
        self._policies: dict[str, AdmissionPolicy] = {}
        self._bindings: dict[str, PolicyBinding] = {}
        self.hooks: tuple[BoundPolicy, ...] = ()

    def follow(self, collections: Collections, kind: str) -> None:
        """``kind``: ``validating`` or ``mutating``. From now on this has what the caches have."""
        policies = collections.named(GROUP, "v1", f"{kind}admissionpolicies").cache
        bindings = collections.named(GROUP, "v1", f"{kind}admissionpolicybindings").cache
        policies.follow(
            CacheFollower(self._clear_policies, self._put_policy, self._remove_policy, _UNREADABLE)
        )
        bindings.follow(
            CacheFollower(
                self._clear_bindings, self._put_binding, self._remove_binding, _UNREADABLE
            )
        )

    def put_policy(self, policy: AdmissionPolicy) -> None:
        self._policies[policy.name] = policy
        self._bind()

    def put_binding(self, binding: PolicyBinding) -> None:
        self._bindings[binding.name] = binding
        self._bind()

    def _clear_policies(self) -> None:
        self._policies.clear()
        self._bind()

    def _clear_bindings(self) -> None:
        self._bindings.clear()
        self._bind()

    def _put_policy(self, found: CachedObject) -> None:
        known = self._policies.get(found.name)
        policy = AdmissionPolicy.of(splice.decode_item(found.item))
        # A status or a label that changed leaves what was compiled as it is.
        self.put_policy(policy if known is None or known.spec != policy.spec else known)

    def _put_binding(self, found: CachedObject) -> None:
        self.put_binding(PolicyBinding.of(splice.decode_item(found.item)))

    def _remove_policy(self, found: CachedObject) -> None:
        self._policies.pop(found.name, None)
        self._bind()

    def _remove_binding(self, found: CachedObject) -> None:
        self._bindings.pop(found.name, None)
        self._bind()

    def _bind(self) -> None:
        bound: dict[str, list[PolicyBinding]] = {}
        for binding in sorted(self._bindings.values(), key=lambda one: one.name):
            bound.setdefault(binding.policy, []).append(binding)
        self.hooks = tuple(
            BoundPolicy(self._policies[name], tuple(bound[name]))
            for name in sorted(bound)
            if name in self._policies
        )
        self._changed()
