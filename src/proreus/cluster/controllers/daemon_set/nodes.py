"""Which nodes a DaemonSet's pods fit, and the pod that fits one node only. Pure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from proreus.api.affinity import REQUIRED
from proreus.api.json_types import JsonObject
from proreus.api.object import KubeObject
from proreus.cluster.controllers.controller_revisions import POD_LABEL
from proreus.cluster.controllers.pod_template import pod_from_template
from proreus.cluster.scheduler.filters import node_affinity
from proreus.cluster.scheduler.filters.taints import untolerated
from proreus.cluster.scheduler.node import NodeState
from proreus.cluster.scheduler.pod import PodView

_NAME = "metadata.name"
_TOLERATED = (
    ("node.kubernetes.io/not-ready", "NoExecute"),
    ("node.kubernetes.io/unreachable", "NoExecute"),
    ("node.kubernetes.io/disk-pressure", "NoSchedule"),
    ("node.kubernetes.io/memory-pressure", "NoSchedule"),
    ("node.kubernetes.io/pid-pressure", "NoSchedule"),
    ("node.kubernetes.io/unschedulable", "NoSchedule"),
)
_TOLERATED_ON_HOST_NETWORK = (("node.kubernetes.io/network-unavailable", "NoSchedule"),)


@dataclass(frozen=True, slots=True)
class Fit:
    """Whether a pod may begin on a node, and whether one that is there may stay."""

    may_begin: bool
    may_stay: bool


NOWHERE = Fit(may_begin=False, may_stay=False)


def pod_for(daemon_set: KubeObject, revision_hash: str, node: str) -> JsonObject:
    """A pod that fits one node only; the scheduler binds it like any other."""
    pod = pod_from_template(daemon_set.spec.template, daemon_set)
    pod["metadata"].setdefault("labels", {})[POD_LABEL] = revision_hash
    spec = _tolerant(pod["spec"])
    here = {"matchFields": [{"key": _NAME, "operator": "In", "values": [node]}]}
    affinity = spec.setdefault("affinity", {}).setdefault("nodeAffinity", {})
    terms = (affinity.get(REQUIRED) or {}).get("nodeSelectorTerms") or [{}]
    affinity[REQUIRED] = {"nodeSelectorTerms": [{**term, **here} for term in terms]}
    return pod


def _tolerant(spec: JsonObject) -> JsonObject:
    """A daemon runs also where other pods would not: that is what it is for."""
    present = spec.get("tolerations") or []
    pairs = _TOLERATED + (_TOLERATED_ON_HOST_NETWORK if spec.get("hostNetwork") else ())
    always = [{"key": k, "operator": "Exists", "effect": e} for k, e in pairs]
    spec["tolerations"] = [*present, *(one for one in always if one not in present)]
    return spec


def node_fit(daemon_set: KubeObject) -> Callable[[KubeObject], Fit]:
    """A function from node to fit; the template is read once."""
    pod = pod_from_template(daemon_set.spec.template, daemon_set)
    spec = _tolerant(pod["spec"])
    affinity = (spec.get("affinity") or {}).get("nodeAffinity") or {}
    terms = (affinity.get(REQUIRED) or {}).get("nodeSelectorTerms") or []
    # The node's name is put in the place of these fields, so they exclude nothing.
    asked = [{k: v for k, v in term.items() if k != "matchFields"} for term in terms]
    if all(asked) and asked:
        affinity[REQUIRED] = {"nodeSelectorTerms": asked}
    else:
        affinity.pop(REQUIRED, None)
    view = PodView.read(KubeObject.from_dict(pod))
    refuse = node_affinity.node_filter(view)

    def fit(node: KubeObject) -> Fit:
        state = NodeState(node.name)
        state.update(node)
        if refuse is not None and refuse(state) is not None:
            return NOWHERE
        stay = not list(untolerated(state.taints, view.tolerations, ("NoExecute",)))
        begin = stay and not list(untolerated(state.taints, view.tolerations, ("NoSchedule",)))
        return Fit(begin, stay)

    return fit


def node_of(pod: KubeObject) -> str:
    """The node a pod is bound to, or the only one its affinity allows."""
    if pod.spec.nodeName:
        return str(pod.spec.nodeName)
    affinity = ((pod.spec.affinity or {}).get("nodeAffinity") or {}).get(REQUIRED) or {}
    for term in affinity.get("nodeSelectorTerms") or ():
        for one in term.get("matchFields") or ():
            if one.get("key") == _NAME and one.get("values"):
                return str(one["values"][0])
    return ""
