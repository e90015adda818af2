"""The two policy plugins of a server, put together when the first policy is bound.

Until then they follow policies and bindings and do nothing: the engine is large.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import cached_property, partial
from typing import TYPE_CHECKING

import structlog

from proreus.aio.clock import Clock
from proreus.api.status import TooManyRequests
from proreus.lazy_dataclass import dataclass
from proreus.server.admission.expressions import ExpressionRunner
from proreus.server.admission.policies.definition import AdmissionPolicy
from proreus.server.admission.policies.source import PolicySource
from proreus.server.admission.versions import ObjectVersions
from proreus.server.offload import Lane
from proreus.server.prometheus import CollectorRegistry
from proreus.server.registry.admission import Attributes
from proreus.server.registry.catalog import Catalog
from proreus.server.registry.collections import Collections

if TYPE_CHECKING:
    from proreus.server.admission.policies.mutating import MutatingPolicies
    from proreus.server.admission.policies.runner import PolicyRunner
    from proreus.server.admission.policies.validating import ValidatingPolicies

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyInputs:
    """``compiling``: where long policies are compiled."""

    catalog: Catalog
    collections: Collections
    versions: ObjectVersions
    expressions: ExpressionRunner
    compiling: Lane
    registry: CollectorRegistry
    clock: Clock


class AdmissionPolicies:
    """Halves of two plugins. Follows policies and bindings from the start."""

    def __init__(self, inputs: PolicyInputs) -> None:
        self._inputs = inputs
        self._changed = asyncio.Event()
        self._on_change: Callable[[], None] = _nothing
        self._validating_source = PolicySource(self._note_change)
        self._mutating_source = PolicySource(self._note_change)
        self._validating_source.follow(inputs.collections, "validating")
        self._mutating_source.follow(inputs.collections, "mutating")

    def has_no_mutating(self) -> bool:
        return not self._mutating_source.hooks

    def has_no_validating(self) -> bool:
        return not self._validating_source.hooks

    def on_change(self, changed: Callable[[], None]) -> None:
        """``changed`` is called in the turn in which a cache applies a change."""
        self._on_change = changed

    def mutate(self, attributes: Attributes) -> Awaitable[None] | None:
        return self._mutating.admit(attributes) if self._mutating_source.hooks else None

    def validate(self, attributes: Attributes) -> Awaitable[None] | None:
        return self._validating.admit(attributes) if self._validating_source.hooks else None

    def _note_change(self) -> None:
        self._changed.set()
        self._on_change()

    async def run(self) -> None:
        """For ever: compile what is bound, in a thread, mostly before it is first asked."""
        while True:
            await self._changed.wait()
            self._changed.clear()
            for hook in (*self._validating_source.hooks, *self._mutating_source.hooks):
                try:
                    await self._inputs.compiling.run(partial(_compile, hook.policy))
                except TooManyRequests:
                    continue  # then it is compiled when it is asked
                except Exception:  # one that cannot be compiled must not end the server
                    _log.exception("admission policy was not compiled", policy=hook.policy.name)

    @cached_property
    def _validating(self) -> ValidatingPolicies:
        from proreus.server.admission.policies.metrics import PolicyMetrics
        from proreus.server.admission.policies.validating import ValidatingPolicies

        metrics = PolicyMetrics(self._inputs.registry, "validating")
        source, clock = self._validating_source, self._inputs.clock
        return ValidatingPolicies(source, self._runner, metrics, clock)

    @cached_property
    def _mutating(self) -> MutatingPolicies:
        from proreus.server.admission.policies.metrics import PolicyMetrics
        from proreus.server.admission.policies.mutating import MutatingPolicies

        metrics = PolicyMetrics(self._inputs.registry, "mutating")
        source, clock = self._mutating_source, self._inputs.clock
        return MutatingPolicies(source, self._runner, metrics, clock)

    @cached_property
    def _runner(self) -> PolicyRunner:
        from proreus.server.admission.policies.invocations import PolicyInvocations
        from proreus.server.admission.policies.runner import PolicyRunner

        inputs = self._inputs
        found = PolicyInvocations(inputs.catalog, inputs.collections, inputs.versions)
        return PolicyRunner(found, inputs.versions, inputs.expressions, inputs.compiling)


def _nothing() -> None:
    return None


def _compile(policy: AdmissionPolicy) -> None:
    _ = policy.compiled
