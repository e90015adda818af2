"""Pod: containers that run together on one node."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from proreus.api.group_version import GroupVersionKind
from proreus.api.json_types import JsonObject
from proreus.server.kinds.core.pod.app_armor import profile_warnings
from proreus.server.kinds.core.pod.columns import PRINTER
from proreus.server.kinds.core.pod.creation import prepare_create, prepare_status
from proreus.server.kinds.core.pod.status import status_warnings, validate_status
from proreus.server.kinds.core.pod.subresources import EPHEMERAL_CONTAINERS, RESIZE
from proreus.server.kinds.core.pod.validation import validate, validate_update
from proreus.server.kinds.parts.pod_template.defaults import default_pod, default_pod_status
from proreus.server.kinds.parts.pod_template.warnings import name_warnings, pod_warnings
from proreus.server.resource import Generation, Lifecycle, Names, Resource, Rules, Subresource
from proreus.server.resource.selectable import SelectableFields, as_text
from proreus.server.resource.subresource import CONNECT, CREATE_ONLY, PROXY, READ_WRITE


def _warnings(pod: JsonObject) -> list[str]:
    """Only for new pods: updates come from controllers and the kubelet, which read none."""
    return [*name_warnings(pod, "the Pod's hostname"), *pod_warnings(pod)]


_NAMES = Names.of("", "v1", "Pod", "pods", "po", categories=("all",))
_V1 = _NAMES.group_version


def _read_fields(obj: Mapping[str, Any]) -> dict[str, str]:
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    addresses = status.get("podIPs") or ()
    return {
        "spec.nodeName": spec.get("nodeName") or "",
        "spec.restartPolicy": spec.get("restartPolicy") or "",
        "spec.schedulerName": spec.get("schedulerName") or "",
        "spec.serviceAccountName": spec.get("serviceAccountName") or "",
        "spec.hostNetwork": as_text(bool(spec.get("hostNetwork"))),
        "status.phase": status.get("phase") or "",
        "status.podIP": status.get("podIP") or (addresses[0].get("ip", "") if addresses else ""),
        "status.nominatedNodeName": status.get("nominatedNodeName") or "",
    }


_PATHS = (
    "spec.hostNetwork", "spec.nodeName", "spec.restartPolicy", "spec.schedulerName",
    "spec.serviceAccountName", "status.nominatedNodeName", "status.phase", "status.podIP",
    "status.podIPs",
)  # fmt: skip

RESOURCES = (
    Resource(
        names=_NAMES,
        namespaced=True,
        subresources=(
            Subresource(name="attach", kind=_V1.kind("PodAttachOptions"), verbs=CONNECT),
            Subresource(name="binding", kind=_V1.kind("Binding"), verbs=CREATE_ONLY),
            Subresource(
                name="ephemeralcontainers",
                kind=_NAMES.gvk,
                verbs=READ_WRITE,
                update=EPHEMERAL_CONTAINERS,
            ),
            Subresource(
                name="eviction",
                kind=GroupVersionKind("policy", "v1", "Eviction"),
                past_kind=GroupVersionKind("policy", "v1beta1", "Eviction"),
                verbs=CREATE_ONLY,
            ),
            Subresource(name="exec", kind=_V1.kind("PodExecOptions"), verbs=CONNECT),
            Subresource(name="log", kind=_NAMES.gvk, verbs=("get",)),
            Subresource(name="portforward", kind=_V1.kind("PodPortForwardOptions"), verbs=CONNECT),
            Subresource(name="proxy", kind=_V1.kind("PodProxyOptions"), verbs=PROXY),
            Subresource(name="resize", kind=_NAMES.gvk, verbs=READ_WRITE, update=RESIZE),
        ),
        has_status=True,
        lifecycle=Lifecycle(generation=Generation(), returns_deleted=True, graceful_delete=True),
        selectable=SelectableFields(
            names=_PATHS,
            read=_read_fields,
            aliases={"spec.host": "spec.nodeName"},
            exact_index="spec.nodeName",
            own_table=True,
            reads=_PATHS,
        ),
        rules=Rules(
            default=default_pod,
            default_status=default_pod_status,
            prepare_create=prepare_create,
            prepare_status=prepare_status,
            kept_by_status=(("metadata", "deletionTimestamp"), ("metadata", "ownerReferences")),
            validate=validate,
            validate_update=validate_update,
            validate_status=validate_status,
            warnings_as_given=profile_warnings,
            warnings_on_create=_warnings,
            warnings_on_status=status_warnings,
        ),
        printer=PRINTER,
    ),
)
