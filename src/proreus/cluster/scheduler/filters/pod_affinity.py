"""Required pod affinity and anti-affinity, of this pod and of those that run.

Near means: on nodes with the same value of the term's ``topologyKey``. Only required terms refuse.
A term's ``namespaceSelector`` is known to be all namespaces if it is empty; otherwise only the
namespaces that are named count. Cost: a look at every pod for pods with terms; for others, one at
the few that repel.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from proreus.api.affinity import REQUIRED
from proreus.api.json_types import Json
from proreus.api.selectors.labels import LabelSelector
from proreus.cluster.scheduler.node import NodeState
from proreus.cluster.scheduler.pod import PodView

_AFFINITY = "node(s) didn't match pod affinity rules"
_ANTI = "node(s) didn't match pod anti-affinity rules"
_REPELLED = "node(s) didn't satisfy existing pods anti-affinity rules"


@dataclass(frozen=True, slots=True)
class _Term:
    topology_key: str
    matches: Callable[[PodView], bool]

    def domains(self, nodes: Iterable[NodeState]) -> set[str]:
        """Where the pods are that the term means."""
        return {
            node.labels[self.topology_key]
            for node in nodes
            if self.topology_key in node.labels and any(map(self.matches, node.pods.values()))
        }


def node_filter(
    pod: PodView, nodes: Sequence[NodeState]
) -> Callable[[NodeState], str | None] | None:
    near = _terms(pod, "podAffinity")
    wanted = [(term.topology_key, term.domains(nodes)) for term in near]
    if wanted and not any(domains for _, domains in wanted) and all(t.matches(pod) for t in near):
        # The first of a group that wants to be together may go anywhere that has the label.
        wanted = [(key, {n.labels[key] for n in nodes if key in n.labels}) for key, _ in wanted]
    unwanted = [(t.topology_key, t.domains(nodes)) for t in _terms(pod, "podAntiAffinity")]
    repelled = list(_repelled(pod, nodes))
    if not wanted and not unwanted and not repelled:
        return None

    def refuse(node: NodeState) -> str | None:
        labels = node.labels
        if any(labels.get(key) not in domains for key, domains in wanted):
            return _AFFINITY
        if any(labels.get(key) in domains for key, domains in unwanted):
            return _ANTI
        if any(labels.get(key) == domain for key, domain in repelled):
            return _REPELLED
        return None

    return refuse


def _repelled(pod: PodView, nodes: Sequence[NodeState]) -> Iterable[tuple[str, str]]:
    """Topology keys and values where a pod runs that does not want this one near."""
    for node in [node for node in nodes if node.repelling]:
        for other in node.repelling.values():
            for term in _terms(other, "podAntiAffinity"):
                if term.topology_key in node.labels and term.matches(pod):
                    yield term.topology_key, node.labels[term.topology_key]


def _terms(pod: PodView, kind: str) -> list[_Term]:
    affinity = (pod.spec.get("affinity") or {}).get(kind) or {}
    return [
        _Term(t.get("topologyKey") or "", matcher(t, pod)) for t in affinity.get(REQUIRED) or ()
    ]


def matcher(term: Json, owner: PodView) -> Callable[[PodView], bool]:
    selected = term.get("labelSelector")
    if selected is None:
        return lambda _: False
    selector = LabelSelector.from_object(selected)
    if term.get("namespaceSelector") == {}:
        return lambda other: selector.matches(other.labels)
    namespaces = frozenset(term.get("namespaces") or (owner.namespace,))
    return lambda other: other.namespace in namespaces and selector.matches(other.labels)
