"""Preemption: which pods of lower priority are evicted for a pod that fits nowhere. Pure.

On each candidate node: remove all pods of lower priority; if the pod then fits, reprieve as many as
possible, first those whose eviction would violate a disruption budget, then by priority. The others
are the victims. The node is chosen by fewest violated budgets, then lowest priority, then
fewest victims.
Cost: per candidate node one filter run per pod on it; at most ``_CANDIDATES_MAX`` candidates.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from proreus.cluster.scheduler.cycle import explain, replaced
from proreus.cluster.scheduler.disruption_budget import DisruptionBudget
from proreus.cluster.scheduler.filters import Refusal, filter_for, is_unresolvable
from proreus.cluster.scheduler.node import NodeState
from proreus.cluster.scheduler.pod import PodView

_CANDIDATES_MAX = 100
_NO_VICTIMS = "No preemption victims found for incoming pod"
_NOT_HELPFUL = "Preemption is not helpful for scheduling"


@dataclass(frozen=True, slots=True)
class Preemption:
    """The victims on a node. ``displaced``: pods of lower priority that were nominated there; they
    are scheduled again."""

    node: str
    victims: tuple[PodView, ...]
    broken_budgets: int
    displaced: tuple[PodView, ...]


@dataclass(frozen=True, slots=True)
class NoPreemption:
    """``why`` completes the message of FailedScheduling. ``keeps_nomination``: victims are
    terminating already."""

    why: str
    keeps_nomination: bool = False


def preempt(
    pod: PodView,
    nodes: Sequence[NodeState],
    refusals: Mapping[str, Refusal],
    budgets: Sequence[DisruptionBudget],
) -> Preemption | NoPreemption:
    if not pod.may_preempt:
        return NoPreemption("preemption: not eligible due to preemptionPolicy=Never.")
    helpless: dict[str, Refusal] = {}
    found: list[Preemption] = []
    for node in nodes:
        refusal = refusals.get(node.name, _NOT_HELPFUL)
        if is_unresolvable(refusal, pod, node):
            helpless[node.name] = _NOT_HELPFUL
        elif not any(other.priority < pod.priority for other in node.pods.values()):
            helpless[node.name] = _NO_VICTIMS
    candidates = (node for node in nodes if node.name not in helpless)
    for node in islice(candidates, _CANDIDATES_MAX):
        made = _on_node(pod, node, nodes, budgets)
        if isinstance(made, Preemption):
            found.append(made)
        else:
            helpless[node.name] = made
    if found:
        return min(found, key=_cost)
    return NoPreemption(f"preemption: {explain(len(nodes), helpless.values())}")


def not_helpful(nodes: Sequence[NodeState]) -> NoPreemption:
    """The pod cannot run, whichever pods leave."""
    refusals = [_NOT_HELPFUL] * len(nodes)
    return NoPreemption(f"preemption: {explain(len(nodes), refusals)}")


def is_waiting_for_victims(pod: PodView, nominated: NodeState | None) -> bool:
    """Whether victims of an earlier preemption are still terminating: no more are evicted then."""
    return nominated is not None and any(
        other.is_deleting and other.priority < pod.priority for other in nominated.pods.values()
    )


def _on_node(
    pod: PodView, node: NodeState, nodes: Sequence[NodeState], budgets: Sequence[DisruptionBudget]
) -> Preemption | Refusal:
    staying = [other for other in node.pods.values() if other.priority >= pod.priority]
    staying += [other for other in node.nominated.values() if other.priority >= pod.priority]

    def fits(pods: Sequence[PodView]) -> Refusal | None:
        imagined = node.with_pods(other for other in pods if other.uid != pod.uid)
        return filter_for(pod, replaced(nodes, imagined))(imagined)

    if (refusal := fits(staying)) is not None:
        return refusal
    possible = [other for other in node.pods.values() if other.priority < pod.priority]
    breaking, harmless = _by_budget(sorted(possible, key=_importance), budgets)
    victims: list[PodView] = []
    broken = 0
    for other in (*breaking, *harmless):
        if fits([*staying, other]) is None:
            staying.append(other)
        else:
            victims.append(other)
            broken += other in breaking
    lesser = tuple(other for other in node.nominated.values() if other.priority < pod.priority)
    return Preemption(node.name, tuple(victims), broken, lesser) if victims else _NO_VICTIMS


def _by_budget(
    pods: Sequence[PodView], budgets: Sequence[DisruptionBudget]
) -> tuple[list[PodView], list[PodView]]:
    """Pods whose leaving breaks a budget, if all before them leave too, and the others."""
    left = [budget.allowed for budget in budgets]
    breaking: list[PodView] = []
    harmless: list[PodView] = []
    for pod in pods:
        concerned = [number for number, budget in enumerate(budgets) if budget.covers(pod)]
        for number in concerned:
            left[number] -= 1
        (breaking if any(left[number] < 0 for number in concerned) else harmless).append(pod)
    return breaking, harmless


def _importance(pod: PodView) -> tuple[int, str]:
    """The most important first: by priority, then the longest running."""
    return -pod.priority, pod.started or "9"


def _cost(made: Preemption) -> tuple[object, ...]:
    priorities = [victim.priority for victim in made.victims]
    highest = max(priorities)
    started = min(v.started for v in made.victims if v.priority == highest)
    # The younger the victims, the less is lost: later times sort first.
    younger = tuple(-ord(letter) for letter in started)
    # As kube-scheduler does, shifted so that more victims are never better than fewer.
    total = sum(priority + 2**31 for priority in priorities)
    return made.broken_budgets, highest, total, len(made.victims), younger
