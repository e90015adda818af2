"""NodeDeclaredFeatureValidator and PodResizeValidator: whether the node of a pod can resize it."""

from __future__ import annotations

from collections.abc import Awaitable, Iterator
from fractions import Fraction
from math import ceil

from proreus.api.go_text import quoted
from proreus.api.json_types import Json
from proreus.api.pod_qos import qos_class
from proreus.api.quota_usage import pod_requests
from proreus.api.status import Forbidden
from proreus.api.values import quantity
from proreus.server.admission.plugins import lookup
from proreus.server.registry.admission import Attributes
from proreus.server.registry.collection import Collection

_OS = "kubernetes.io/os"


class PodResize:
    def __init__(self, nodes: Collection) -> None:
        self._nodes = nodes

    def check_features(self, attributes: Attributes) -> Awaitable[None] | None:
        """Raises Forbidden where the resize needs what the node does not say that it has."""
        if not _is_changed_on_node(attributes):
            return None
        assert attributes.obj is not None and attributes.old is not None
        needed = sorted(needed_features(attributes.obj, attributes.old))
        return self._check_features(attributes, needed) if needed else None

    def check_capacity(self, attributes: Attributes) -> Awaitable[None] | None:
        """Raises Forbidden where the pod would be larger than its node, or the node is no Linux."""
        return self._check_capacity(attributes) if _is_changed_on_node(attributes) else None

    async def _check_features(self, attributes: Attributes, needed: list[str]) -> None:
        node = await self._node(attributes)
        declared = (node.get("status") or {}).get("declaredFeatures") or ()
        if missing := [name for name in needed if name not in declared]:
            raise attributes.forbidden(
                f"pod update requires features {', '.join(missing)} which are not available on "
                f"node {quoted(node['metadata']['name'])}"
            )

    async def _check_capacity(self, attributes: Attributes) -> None:
        node = await self._node(attributes)
        assert attributes.obj is not None
        if why := excess(attributes.obj["spec"], (node.get("status") or {}).get("allocatable")):
            raise _with_cause(attributes, why, "NodeCapacity")
        metadata = node["metadata"]
        if (system := (metadata.get("labels") or {}).get(_OS) or "") != "linux":
            why = (
                "pod resize is only supported on linux nodes, node "
                f"{quoted(metadata['name'])} is {quoted(system)}"
            )
            raise _with_cause(attributes, why, "UnsupportedPlatform")

    async def _node(self, attributes: Attributes) -> Json:
        assert attributes.obj is not None
        name = attributes.obj["spec"]["nodeName"]
        node = await lookup.find(self._nodes, name)
        if node is None:
            raise attributes.forbidden(f"node {quoted(name)} not found")
        return node


def _is_changed_on_node(attributes: Attributes) -> bool:
    new, old = attributes.obj, attributes.old
    if new is None or old is None or not new["spec"].get("nodeName"):
        return False
    return bool(new["metadata"].get("generation") != old["metadata"].get("generation"))


def _with_cause(attributes: Attributes, why: str, reason: str) -> Forbidden:
    resource = attributes.resource.group_resource
    return Forbidden.of(resource, attributes.name, why, causes=[{"reason": reason}])


def needed_features(new: Json, old: Json) -> Iterator[str]:
    """What a node must have declared to make the change."""
    now, then = new["spec"], old["spec"]
    class_then = (old.get("status") or {}).get("qosClass") or qos_class(then)
    if class_then == "Guaranteed" and _cpus(now) != _cpus(then):
        yield "GuaranteedQoSPodCPUResize"
    if now.get("resources") != then.get("resources"):
        yield "InPlacePodLevelResourcesVerticalScaling"
    if _init_sizes(now) != _init_sizes(then):
        yield "InPlacePodVerticalScalingInitContainers"


def _cpus(spec: Json) -> list[Fraction]:
    return [
        quantity.amount(((one.get("resources") or {}).get("requests") or {}).get("cpu"))
        for one in spec.get("containers") or ()
    ]


def _init_sizes(spec: Json) -> list[Json]:
    """Of those that end; sidecars are resized as containers are."""
    return [
        one.get("resources") or {}
        for one in spec.get("initContainers") or ()
        if one.get("restartPolicy") != "Always"
    ]


def excess(spec: Json, allocatable: Json | None) -> str:
    """What the pod asks for beyond all that the node has for pods; "" if nothing."""
    asked, given = pod_requests(spec), allocatable or {}
    found = []
    for name, scale in (("cpu", 1000), ("memory", 1)):
        wanted = ceil(asked.get(name, Fraction(0)) * scale)
        most = ceil(quantity.amount(given.get(name)) * scale)
        if wanted > most:
            found.append(f"{name}, requested: {wanted}, allocatable: {most}")
    return f"Node didn't have enough allocatable resources: {'; '.join(found)}" if found else ""
