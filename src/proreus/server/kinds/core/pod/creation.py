"""What the server adds to a pod that is created, and what its updates keep."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from proreus.api.affinity import PREFERRED, REQUIRED
from proreus.api.json_types import JsonObject
from proreus.api.pod_qos import qos_class
from proreus.server.kinds.core.pod.app_armor import copy_profiles
from proreus.server.resource.restore import restore


def prepare_create(pod: JsonObject) -> None:
    spec = pod["spec"]
    pod["status"] = {"phase": "Pending", "qosClass": qos_class(spec)}
    if spec.get("schedulingGates"):
        pod["status"]["conditions"] = [_gated()]
    _merge_label_keys(spec, pod["metadata"].get("labels") or {})
    copy_profiles(pod)


def _gated() -> JsonObject:
    return {
        "type": "PodScheduled",
        "status": "False",
        "lastProbeTime": None,
        "lastTransitionTime": None,
        "reason": "SchedulingGated",
        "message": "Scheduling is blocked due to non-empty scheduling gates",
    }


def _merge_label_keys(spec: JsonObject, labels: Mapping[str, str]) -> None:
    """``matchLabelKeys`` stands for the pod's own values; the scheduler reads them as selectors."""
    for constraint in spec.get("topologySpreadConstraints") or ():
        _merge_keys(constraint, labels)
    affinity = spec.get("affinity")
    if not affinity:
        return
    for key in ("podAffinity", "podAntiAffinity"):
        part = affinity.get(key) or {}
        for term in part.get(REQUIRED) or ():
            _merge_keys(term, labels)
        for weighted in part.get(PREFERRED) or ():
            _merge_keys(weighted.get("podAffinityTerm") or {}, labels)


def _merge_keys(term: JsonObject, labels: Mapping[str, str]) -> None:
    selector = term.get("labelSelector")
    if selector is None:
        return
    for field, operator in (("matchLabelKeys", "In"), ("mismatchLabelKeys", "NotIn")):
        for key in term.get(field) or ():
            if key in labels:
                entry = {"key": key, "operator": operator, "values": [labels[key]]}
                selector.setdefault("matchExpressions", []).append(entry)


def prepare_status(new: JsonObject, old: JsonObject) -> None:
    status, before = new.setdefault("status", {}), old.get("status") or {}
    for key in ("qosClass", "observedGeneration"):
        if before.get(key) and not status.get(key):
            status[key] = before[key]
    _keep_observed(status.get("conditions") or (), before.get("conditions") or ())
    # Old kubelets would corrupt them, and garbage collection with them.
    restore(new["metadata"], old["metadata"], "ownerReferences")


def _keep_observed(conditions: Sequence[JsonObject], before: Sequence[JsonObject]) -> None:
    """A client that does not know of generations does not take them away."""
    known: dict[object, list[int]] = {}
    for condition in before:
        known.setdefault(condition.get("type"), []).append(condition.get("observedGeneration") or 0)
    for condition in conditions:
        old = known.get(condition.get("type")) or [0]
        generation = old.pop(0)
        if generation and not condition.get("observedGeneration"):
            condition["observedGeneration"] = generation
