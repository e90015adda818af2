"""What the two policy plugins share: which policies a request concerns, and their metrics."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Sequence

from proreus.aio.clock import Clock
from proreus.lazy_dataclass import dataclass
from proreus.server.admission.policies.invocations import (
    FoundInvocations,
    PolicyCandidate,
    PolicyInvocation,
)
from proreus.server.admission.policies.metrics import NO_ERROR, PolicyMetrics
from proreus.server.admission.policies.runner import PolicyRunner
from proreus.server.admission.policies.source import PolicySource
from proreus.server.registry.admission import Attributes


@dataclass(frozen=True, slots=True)
class PolicyHalf(ABC):
    """A plugin's mutating or validating half. ``source``: the policies it asks."""

    source: PolicySource
    runner: PolicyRunner
    metrics: PolicyMetrics
    clock: Clock

    def admit(self, attributes: Attributes) -> Awaitable[None] | None:
        candidates = self.runner.invocations.candidates(self.source.hooks, attributes)
        return self._find_and_ask(attributes, candidates) if candidates else None

    async def _find_and_ask(
        self, attributes: Attributes, candidates: Sequence[PolicyCandidate]
    ) -> None:
        await self._ask(attributes, await self.runner.invocations.find(attributes, candidates))

    @abstractmethod
    async def _ask(self, attributes: Attributes, found: FoundInvocations) -> None:
        """Raises ApiError."""

    def _observe(
        self, asked: PolicyInvocation, action: str, elapsed_s: float, error: str = NO_ERROR
    ) -> None:
        self.metrics.observe(asked.policy.name, asked.binding.name, action, elapsed_s, error)
