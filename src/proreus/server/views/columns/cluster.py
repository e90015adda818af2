"""Nodes, namespaces and what else describes the cluster itself."""

from __future__ import annotations

from proreus.server.views.columns.cells import NONE, Object, age, condition, name_of, number
from proreus.server.views.columns.printer import Cells, Printer, columns

_ROLE_PREFIX = "node-role.kubernetes.io/"
_ROLE_LABEL = "kubernetes.io/role"
_UNKNOWN = "<unknown>"


def _fill_node(obj: Object, now: float) -> Cells:
    status = obj.get("status") or {}
    about = status.get("nodeInfo") or {}
    return [
        name_of(obj),
        _node_status(obj),
        _roles(obj),
        age(obj, now),
        about.get("kubeletVersion", ""),
        _address(status, "InternalIP"),
        _address(status, "ExternalIP"),
        about.get("osImage") or _UNKNOWN,
        _kernel(about),
        about.get("containerRuntimeVersion") or _UNKNOWN,
    ]


def _node_status(obj: Object) -> str:
    ready = condition(obj, "Ready")
    text = "Unknown" if ready is None else "Ready" if ready.get("status") == "True" else "NotReady"
    cordoned = (obj.get("spec") or {}).get("unschedulable")
    return f"{text},SchedulingDisabled" if cordoned else text


def _roles(obj: Object) -> str:
    labels = (obj.get("metadata") or {}).get("labels") or {}
    roles = {key.removeprefix(_ROLE_PREFIX) for key in labels if key.startswith(_ROLE_PREFIX)}
    roles.add(labels.get(_ROLE_LABEL, ""))
    return ",".join(sorted(roles - {""})) or NONE


def _address(status: Object, kind: str) -> str:
    addresses = status.get("addresses") or ()
    return next((a.get("address", "") for a in addresses if a.get("type") == kind), NONE)


def _kernel(about: Object) -> str:
    version, machine = about.get("kernelVersion"), about.get("architecture")
    if not version:
        return _UNKNOWN
    return f"{version} ({machine})" if machine else str(version)


def _fill_namespace(obj: Object, now: float) -> Cells:
    return [name_of(obj), (obj.get("status") or {}).get("phase", ""), age(obj, now)]


def _fill_component_status(obj: Object, _: float) -> Cells:
    for found in obj.get("conditions") or ():
        if found.get("type") == "Healthy":
            text = "Healthy" if found.get("status") == "True" else "Unhealthy"
            return [name_of(obj), text, found.get("message", ""), found.get("error", "")]
    return [name_of(obj), "Unknown", "", ""]


def _fill_lease(obj: Object, now: float) -> Cells:
    return [name_of(obj), (obj.get("spec") or {}).get("holderIdentity") or "", age(obj, now)]


def _fill_runtime_class(obj: Object, now: float) -> Cells:
    return [name_of(obj), obj.get("handler", ""), age(obj, now)]


def _fill_priority_class(obj: Object, now: float) -> Cells:
    return [
        name_of(obj),
        number(obj.get("value")),
        bool(obj.get("globalDefault")),
        age(obj, now),
        obj.get("preemptionPolicy") or "",
    ]


PRINTERS: dict[tuple[str, str], Printer] = {
    ("", "Node"): Printer(
        columns(
            "Name", "Status", "Roles", "Age", "Version", "Internal-IP*", "External-IP*",
            "OS-Image*", "Kernel-Version*", "Container-Runtime*",
        ),
        _fill_node,
    ),
    ("", "Namespace"): Printer(columns("Name", "Status", "Age"), _fill_namespace),
    ("", "ComponentStatus"): Printer(
        columns("Name", "Status", "Message", "Error"), _fill_component_status
    ),
    ("coordination.k8s.io", "Lease"): Printer(columns("Name", "Holder", "Age"), _fill_lease),
    ("node.k8s.io", "RuntimeClass"): Printer(
        columns("Name", "Handler", "Age"), _fill_runtime_class
    ),
    ("scheduling.k8s.io", "PriorityClass"): Printer(
        columns("Name", "Value:integer", "Global-Default:boolean", "Age", "PreemptionPolicy"),
        _fill_priority_class,
    ),
}  # fmt: skip
