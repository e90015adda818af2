"""Prefer nodes where pods that should be spread, if possible, are few (``ScheduleAnyway``).

Cost: a look at every pod, for pods that have such constraints.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from proreus.cluster.scheduler.filters.topology_spread import count_on, includer, matcher
from proreus.cluster.scheduler.node import NodeState
from proreus.cluster.scheduler.pod import PodView


def score(
    pod: PodView, nodes: Sequence[NodeState], every: Sequence[NodeState]
) -> Sequence[float] | None:
    soft = [
        constraint
        for constraint in pod.spec.get("topologySpreadConstraints") or ()
        if constraint.get("whenUnsatisfiable") == "ScheduleAnyway"
    ]
    if not soft:
        return None
    raw = [0.0] * len(nodes)
    for constraint in soft:
        key, matches = constraint.get("topologyKey") or "", matcher(pod, constraint)
        includes = includer(pod, constraint)
        counts: Counter[str] = Counter()
        for node in every:
            if key in node.labels and includes(node):
                counts[node.labels[key]] += count_on(node, matches)
        # Many small domains differ by little each; the weight makes up for it.
        weight, skew = math.log(len(counts) + 2), (constraint.get("maxSkew") or 1) - 1
        worst = max(counts.values(), default=0)
        for position, node in enumerate(nodes):
            domain = node.labels.get(key)
            # A node outside of every domain is as bad as the fullest.
            raw[position] += (worst if domain is None else counts[domain]) * weight + skew
    low, high = min(raw), max(raw)
    return [(high + low - value) * 100 / high for value in raw] if high > low else None
