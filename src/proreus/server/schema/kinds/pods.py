"""Pods: what a new one is given, what may change in a living one, what is worth a warning."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from proreus.api.field_error import FieldError
from proreus.api.pod_qos import qos_class
from proreus.server.schema.kinds.findings import Findings
from proreus.server.schema.kinds.pod_defaults import default_pod, default_pod_template
from proreus.server.schema.kinds.pod_spec import check_pod_template
from proreus.server.schema.kinds.pod_status import pod_status
from proreus.server.schema.kinds.pod_updates import check_pod, pod_update
from proreus.server.schema.kinds.pod_warnings import name_warnings, pod_warnings
from proreus.server.schema.kinds.scheduling import PREFERRED, REQUIRED
from proreus.server.schema.rules import JsonObject, Rules

Json = Mapping[str, Any]
_TOLERATED_S = 300
_DEFAULT_TAINTS = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
SYSTEM_PRIORITIES = {"system-cluster-critical": 2000000000, "system-node-critical": 2000001000}


def _prepare_create(pod: JsonObject) -> None:
    spec = pod["spec"]
    pod["status"] = {"phase": "Pending", "qosClass": qos_class(spec)}
    if spec.get("schedulingGates"):
        pod["status"]["conditions"] = [_gated()]
    add_default_tolerations(spec)
    _merge_label_keys(spec, pod["metadata"].get("labels") or {})
    name = spec.get("priorityClassName")
    if not name or name in SYSTEM_PRIORITIES:
        spec.setdefault("priority", SYSTEM_PRIORITIES.get(name or "", 0))
        spec.setdefault("preemptionPolicy", "PreemptLowerPriority")


def _gated() -> JsonObject:
    return {
        "type": "PodScheduled",
        "status": "False",
        "lastProbeTime": None,
        "lastTransitionTime": None,
        "reason": "SchedulingGated",
        "message": "Scheduling is blocked due to non-empty scheduling gates",
    }


def _prepare_update(new: JsonObject, old: JsonObject) -> None:
    add_default_tolerations(new["spec"])


def add_default_tolerations(spec: JsonObject) -> None:
    """A pod stays five minutes on a node that fails, unless it says otherwise."""
    given = spec.get("tolerations") or ()
    missing = [taint for taint in _DEFAULT_TAINTS if not _tolerates(given, taint)]
    if missing:
        spec["tolerations"] = [
            *given,
            *(
                {
                    "effect": "NoExecute",
                    "key": taint,
                    "operator": "Exists",
                    "tolerationSeconds": _TOLERATED_S,
                }
                for taint in missing
            ),
        ]


def _tolerates(tolerations: Any, taint: str) -> bool:
    for toleration in tolerations:
        covers = toleration.get("key", "") in ("", taint)
        if covers and toleration.get("effect", "") in ("", "NoExecute"):
            return True
    return False


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


def _validate(pod: JsonObject) -> list[FieldError]:
    found = Findings()
    spec = pod["spec"]
    check_pod(found, pod)
    if spec.get("ephemeralContainers"):
        found.forbid("spec.ephemeralContainers", "cannot be set on create")
    if spec.get("nodeName") and spec.get("schedulingGates"):
        why = "cannot be set until all schedulingGates have been cleared"
        found.forbid("spec.nodeName", why)
    return found


def _prepare_status(new: JsonObject, old: JsonObject) -> None:
    status, before = new.setdefault("status", {}), old.get("status") or {}
    if before.get("qosClass"):
        status["qosClass"] = before["qosClass"]


def _warnings(pod: JsonObject) -> list[str]:
    """Only of new ones: hardly anybody who updates pods would read them."""
    return [*name_warnings(pod, "the Pod's hostname"), *pod_warnings(pod)]


POD = Rules(
    default=default_pod,
    prepare_create=_prepare_create,
    prepare_update=_prepare_update,
    prepare_status=_prepare_status,
    validate=_validate,
    validate_update=pod_update,
    validate_status=pod_status,
    warnings_on_create=_warnings,
)


def _default_template(obj: JsonObject) -> None:
    default_pod_template(obj.setdefault("template", {}))


def _validate_template(obj: JsonObject) -> list[FieldError]:
    found = Findings()
    check_pod_template(found, "template", obj["template"])
    return found


POD_TEMPLATE = Rules(
    default=_default_template,
    validate=_validate_template,
    validate_update=lambda new, _: _validate_template(new),
    warnings=lambda obj: pod_warnings(obj["template"], "template"),
)
