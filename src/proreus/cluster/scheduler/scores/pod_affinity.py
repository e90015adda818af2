"""Prefer nodes near the pods that a pod would like near, and away from the others.

Both ways: a pod that is there may have preferences about the one that comes. Cost: a look at every
pod for pods with preferences; for others, one at the few that have some.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence

from proreus.api.affinity import PREFERRED
from proreus.cluster.scheduler.filters.pod_affinity import matcher
from proreus.cluster.scheduler.node import NodeState
from proreus.cluster.scheduler.pod import PodView

_Preference = tuple[int, str, Callable[[PodView], bool]]  # weight, topology key, which pods


def score(
    pod: PodView, nodes: Sequence[NodeState], every: Sequence[NodeState]
) -> Sequence[float] | None:
    liking: dict[tuple[str, str], int] = defaultdict(int)  # topology key and value → weight
    own = list(_preferences(pod)) if pod.is_preferring else []
    for node in every if own else [node for node in every if node.preferring]:
        for other in node.pods.values() if own else ():
            for weight, key, matches in own:
                if key in node.labels and matches(other):
                    liking[key, node.labels[key]] += weight
        for other in node.preferring.values():
            for weight, key, matches in _preferences(other):
                if key in node.labels and matches(pod):
                    liking[key, node.labels[key]] += weight
    if not liking:
        return None
    raw = [sum(liking.get(label, 0) for label in node.labels.items()) for node in nodes]
    low, high = min(raw), max(raw)
    return [(value - low) * 100 / (high - low) for value in raw] if high > low else None


def _preferences(pod: PodView) -> Iterator[_Preference]:
    affinity = pod.spec.get("affinity") or {}
    for kind, sign in (("podAffinity", 1), ("podAntiAffinity", -1)):
        for preferred in (affinity.get(kind) or {}).get(PREFERRED) or ():
            term = preferred.get("podAffinityTerm") or {}
            weight = sign * (preferred.get("weight") or 0)
            yield weight, term.get("topologyKey") or "", matcher(term, pod)
