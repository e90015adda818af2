"""The downward API: fields of the pod and resources of its containers. Pure."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping

from proreus.api.json_types import Json
from proreus.api.values.quantity import amount
from proreus.cluster.kubelet.runtimes.pod_spec.pod_spec import ContainerSpec, PodSpec
from proreus.cluster.kubelet.runtimes.runtime import PodAddresses

_SUBSCRIPT = re.compile(r"metadata\.(labels|annotations)\['([^']*)'\]")


class UnknownField(Exception):
    """Its text is for the user."""


def field_value(pod: PodSpec, addresses: PodAddresses, path: str) -> str:
    """Of ``fieldRef``. An absent label is empty."""
    metadata: Json = pod.content.get("metadata") or {}
    if subscript := _SUBSCRIPT.fullmatch(path):
        return str((metadata.get(subscript[1]) or {}).get(subscript[2], ""))
    match path:
        case "metadata.name" | "metadata.namespace" | "metadata.uid":
            return str(metadata.get(path.removeprefix("metadata."), ""))
        case "metadata.labels" | "metadata.annotations":
            return _lines(metadata.get(path.removeprefix("metadata.")) or {})
        case "spec.nodeName" | "spec.serviceAccountName":
            return str(pod.spec.get(path.removeprefix("spec.")) or "")
        case "status.podIP" | "status.podIPs":
            return addresses.pod_ip
        case "status.hostIP" | "status.hostIPs":
            return addresses.host_ip
        case _:
            raise UnknownField(f"unsupported fieldPath: {path}")


def resource_value(container: ContainerSpec, reference: Json, capacity: Mapping[str, str]) -> str:
    """Of ``resourceFieldRef``: in its divisor, rounded up; without a limit, all there is."""
    which, _, resource = str(reference.get("resource") or "").partition(".")
    said = (container.content.get("resources") or {}).get(which) or {}
    if which not in ("limits", "requests") or not resource:
        raise UnknownField(f"unsupported container resource: {reference.get('resource')}")
    default = capacity.get(resource, "0") if which == "limits" else "0"
    divisor = amount(reference.get("divisor") or "1") or amount("1")
    return str(math.ceil(amount(said.get(resource, default)) / divisor))


def _lines(mapping: Mapping[str, str]) -> str:
    return "\n".join(
        f"{key}={json.dumps(value, ensure_ascii=False)}" for key, value in sorted(mapping.items())
    )
