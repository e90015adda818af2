"""What ``fieldSelector`` may name on built-in kinds with fields of their own (spec/server §2.6).

Each reader gets one decoded object and returns every selectable field, absent ones as "". Booleans
and numbers are compared as the text Kubernetes gives them. A field that is accepted but that no
object has (pods: status.podIPs) stands in ``names`` only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from proreus.server.registry.resource import SelectableFields

Object = Mapping[str, Any]


def at_paths(*names: str, exact_index: str = "") -> SelectableFields:
    """Fields whose selectable name is their path: ``spec.type``, ``type``."""
    paths = tuple((name, tuple(name.split("."))) for name in names)

    def read(obj: Object) -> dict[str, str]:
        return {name: _text(_dig(obj, path)) for name, path in paths}

    return _own(names, read, reads=names, exact_index=exact_index)


def _own(
    names: tuple[str, ...],
    read: Callable[[Object], Mapping[str, str]],
    *,
    reads: tuple[str, ...],
    aliases: Mapping[str, str] | None = None,
    exact_index: str = "",
) -> SelectableFields:
    return SelectableFields(
        names=names,
        read=read,
        aliases=aliases or {},
        exact_index=exact_index,
        own_table=True,
        reads=reads,
    )


def _read_pod(obj: Object) -> dict[str, str]:
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    addresses = status.get("podIPs") or ()
    return {
        "spec.nodeName": spec.get("nodeName") or "",
        "spec.restartPolicy": spec.get("restartPolicy") or "",
        "spec.schedulerName": spec.get("schedulerName") or "",
        "spec.serviceAccountName": spec.get("serviceAccountName") or "",
        "spec.hostNetwork": _text(bool(spec.get("hostNetwork"))),
        "status.phase": status.get("phase") or "",
        "status.podIP": status.get("podIP") or (addresses[0].get("ip", "") if addresses else ""),
        "status.nominatedNodeName": status.get("nominatedNodeName") or "",
    }


def _read_node(obj: Object) -> dict[str, str]:
    return {"spec.unschedulable": _text(bool(_dig(obj, ("spec", "unschedulable"))))}


def _read_job(obj: Object) -> dict[str, str]:
    return {"status.successful": str(_dig(obj, ("status", "succeeded")) or 0)}


def _read_replication_controller(obj: Object) -> dict[str, str]:
    return {"status.replicas": str(_dig(obj, ("status", "replicas")) or 0)}


_INVOLVED = ("apiVersion", "fieldPath", "kind", "name", "namespace", "resourceVersion", "uid")


def _read_event(obj: Object) -> dict[str, str]:
    """Both event resources store core/v1 events, so both read that shape."""
    involved, component = obj.get("involvedObject") or {}, obj.get("reportingComponent") or ""
    source = _dig(obj, ("source", "component")) or component
    fields = {f"involvedObject.{name}": _text(involved.get(name)) for name in _INVOLVED}
    fields |= {"reason": _text(obj.get("reason")), "type": _text(obj.get("type"))}
    return fields | {"reportingComponent": component, "source": source}


def _dig(obj: Any, path: tuple[str, ...]) -> Any:
    for key in path:
        if not isinstance(obj, Mapping):
            return None
        obj = obj.get(key)
    return obj


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


_POD_FIELDS = (
    "spec.hostNetwork", "spec.nodeName", "spec.restartPolicy", "spec.schedulerName",
    "spec.serviceAccountName", "status.nominatedNodeName", "status.phase", "status.podIP",
    "status.podIPs",
)  # fmt: skip
POD = _own(
    _POD_FIELDS,
    _read_pod,
    reads=_POD_FIELDS,
    aliases={"spec.host": "spec.nodeName"},
    exact_index="spec.nodeName",
)
NODE = _own(("spec.unschedulable",), _read_node, reads=("spec.unschedulable",))
NAMESPACE = at_paths("status.phase")
SECRET = at_paths("type")
SERVICE = at_paths("spec.clusterIP", "spec.type")
JOB = replace(
    _own(("status.successful",), _read_job, reads=("status.succeeded",)),
    unknown_field='field label "{}" not supported for Job',
)
REPLICATION_CONTROLLER = _own(
    ("status.replicas",), _read_replication_controller, reads=("status.replicas",)
)
_EVENT_READS = ("involvedObject", "reportingComponent", "source", "reason", "type")
SIGNER = at_paths("spec.signerName")
POD_CERTIFICATE = replace(
    at_paths("spec.nodeName", "spec.podName", "spec.signerName"), by_namespace=False
)
RESOURCE_SLICE = replace(
    at_paths("spec.driver", "spec.nodeName", exact_index="spec.nodeName"),
    unknown_field="field label not supported for resource.k8s.io/v1, Kind=ResourceSlice: {}",
)
CORE_EVENT = _own(
    (*(f"involvedObject.{name}" for name in _INVOLVED),
     "reason", "reportingComponent", "source", "type"),
    _read_event,
    reads=_EVENT_READS,
)  # fmt: skip
# events.k8s.io spells the same fields differently and refuses the core spelling.
EVENT = _own(
    ("reason", "type"),
    _read_event,
    reads=_EVENT_READS,
    aliases={f"regarding.{name}": f"involvedObject.{name}" for name in _INVOLVED}
    | {"reportingController": "reportingComponent"},
)
