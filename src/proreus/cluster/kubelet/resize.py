"""In-place resize: which resources a pod's containers have been given, whatever it asks for. Pure.

A pod is given what it asks for if its node has room (``admission.NodeAllocations.resize``). Until
then its containers keep what they had, and a condition says why. Another says that a container
which must be started again for it still runs as it was.
"""

from __future__ import annotations

from dataclasses import dataclass

from proreus.api.json_types import Json, JsonObject
from proreus.api.object import KubeObject, plain_field
from proreus.api.wire import json

PENDING, IN_PROGRESS = "PodResizePending", "PodResizeInProgress"
DEFERRED, INFEASIBLE = "Deferred", "Infeasible"
_SIZED = ("initContainers", "containers")


@dataclass(frozen=True, slots=True)
class ResizeRefusal:
    """``reason``: deferred until there is room, or infeasible on this node, as Kubernetes says."""

    reason: str
    message: str


def resources_of(pod: KubeObject) -> dict[str, Json]:
    """By container. Plain: a view would keep all of the pod."""
    spec = plain_field(pod, "spec")
    return {
        container["name"]: container.get("resources") or {}
        for field in _SIZED
        for container in spec.get(field) or ()
    }


def given_resources(pod: KubeObject) -> dict[str, Json]:
    """By container, what a pod that runs was given, as its status says: a kubelet that was started
    again must not take a resize for done that it had refused."""
    wanted = resources_of(pod)
    if (plain_field(pod, "metadata").get("generation") or 0) < 2:
        return wanted  # never resized
    status = plain_field(pod, "status")
    given = {
        one["name"]: one["resources"]
        for field in ("initContainerStatuses", "containerStatuses")
        for one in status.get(field) or ()
        if one.get("resources") is not None
    }
    return {name: given.get(name, asked) for name, asked in wanted.items()}


def resize_message(pod: KubeObject, said: str, error: str = "") -> str:
    """Of an event about a resize: what the pod asks for, and in which generation."""
    spec = plain_field(pod, "spec")
    summary: JsonObject = {
        field: [_sized(container) for container in containers]
        for field in _SIZED
        if (containers := spec.get(field))
    }
    summary["generation"] = plain_field(pod, "metadata").get("generation") or 0
    if error:
        summary["error"] = error
    return f"Pod resize {said}: {json.encode(summary).decode()}"


def _sized(container: Json) -> Json:
    resources = container.get("resources") or {}
    return {
        "name": container["name"],
        "resources": {
            kind: dict(sorted(resources[kind].items()))
            for kind in ("limits", "requests")
            if resources.get(kind)
        },
    }


def with_resources(pod: KubeObject, allocated: dict[str, Json]) -> KubeObject:
    """The pod as it would be if it asked for no more than it has."""
    content = pod.to_dict()
    for field in _SIZED:
        for container in content["spec"].get(field) or ():
            container["resources"] = allocated[container["name"]]
    return KubeObject.from_dict(content)
