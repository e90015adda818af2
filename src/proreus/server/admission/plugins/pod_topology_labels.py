"""PodTopologyLabels: a pod learns the zone and the region of its node as labels.

They come with the binding, or with a pod that is created on a node; what the pod said of them
before is replaced.
"""

from __future__ import annotations

from proreus.server.registry.admission import CREATE, Attributes
from proreus.server.registry.collection import Collection

_COPIED = ("topology.kubernetes.io/zone", "topology.kubernetes.io/region")


class PodTopologyLabels:
    def __init__(self, nodes: Collection) -> None:
        self._nodes = nodes

    def set_labels(self, attributes: Attributes) -> None:
        obj = attributes.obj
        if obj is None:
            return
        if attributes.is_of(CREATE, "", "pods"):
            node = (obj.get("spec") or {}).get("nodeName")
        elif attributes.is_of(CREATE, "", "pods", "binding"):
            target = obj.get("target") or {}
            node = target.get("name") if target.get("kind") == "Node" else None
        else:
            return
        found = self._nodes.cache.peek(node) if node else None
        copied = {key: found.labels[key] for key in _COPIED if found and key in found.labels}
        if copied:
            labels = obj["metadata"].get("labels") or {}
            obj["metadata"]["labels"] = {**labels, **copied}
