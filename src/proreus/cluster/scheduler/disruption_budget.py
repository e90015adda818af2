"""What preemption knows of a PodDisruptionBudget."""

from __future__ import annotations

from dataclasses import dataclass

from proreus.api.selectors.labels import LabelSelector
from proreus.cluster.scheduler.pod import PodView


@dataclass(frozen=True, slots=True)
class DisruptionBudget:
    """A PodDisruptionBudget: of the pods it selects so many may be disrupted now."""

    namespace: str
    selector: LabelSelector
    allowed: int

    def covers(self, pod: PodView) -> bool:
        return pod.namespace == self.namespace and self.selector.matches(pod.labels)
