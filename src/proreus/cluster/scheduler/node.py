"""A node and what is on it, pods assumed but not yet bound included."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from proreus.api.json_types import Json
from proreus.api.object import KubeObject
from proreus.cluster.scheduler import resources
from proreus.cluster.scheduler.pod import HostPort, PodView


class NodeState:
    """Sums are kept up to date pod by pod, so that looking at a node costs nothing per pod."""

    __slots__ = (
        "_by_owner",
        "allocatable",
        "host_ports",
        "is_unschedulable",
        "labels",
        "name",
        "nominated",
        "nonzero_requested",
        "pods",
        "preferring",
        "repelling",
        "requested",
        "spec",
        "taints",
        "version",
    )  # fmt: skip

    def __init__(self, name: str) -> None:
        self.name = name
        self.labels: Mapping[str, str] = {}
        self.spec: Json = {}
        self.taints: list[Json] = []
        self.is_unschedulable = False
        self.allocatable: Mapping[str, int] = {}
        self.pods: dict[str, PodView] = {}  # by uid
        self.repelling: dict[str, PodView] = {}  # the pods with required anti-affinity
        self.preferring: dict[str, PodView] = {}  # the pods with preferred pod affinity
        self.nominated: dict[str, PodView] = {}  # the pods for which room is being made here
        self.requested: dict[str, int] = {}
        self.nonzero_requested: dict[str, int] = {}
        self.host_ports: list[HostPort] = []
        self._by_owner: dict[str, int] = {}
        self.version = 0  # another one whenever a filter or score might say something else

    def update(self, node: KubeObject) -> None:
        """Take over what the node object says; pods stay."""
        content = node.to_dict()
        self.labels = dict(node.labels)
        self.spec = content.get("spec") or {}
        self.taints = self.spec.get("taints") or []
        self.is_unschedulable = bool(self.spec.get("unschedulable"))
        status = content.get("status") or {}
        self.allocatable = resources.read(status.get("allocatable") or status.get("capacity"))
        self.version += 1

    def leave(self) -> None:
        """The node object is gone; pods stay."""
        self.allocatable = {}
        self.version += 1

    @property
    def is_known(self) -> bool:
        """Whether the node object was seen; pods may arrive before it."""
        return bool(self.allocatable)

    def add(self, pod: PodView) -> None:
        if pod.uid in self.pods:
            self.remove(pod.uid)
        self.pods[pod.uid] = pod
        self._count(pod, 1)
        self.host_ports.extend(pod.host_ports)
        if pod.is_repelling:
            self.repelling[pod.uid] = pod
        if pod.is_preferring:
            self.preferring[pod.uid] = pod

    def remove(self, uid: str) -> PodView | None:
        pod = self.pods.pop(uid, None)
        if pod is not None:
            self._count(pod, -1)
            self.repelling.pop(uid, None)
            self.preferring.pop(uid, None)
            for port in pod.host_ports:
                self.host_ports.remove(port)
        return pod

    def with_pods(self, pods: Iterable[PodView]) -> NodeState:
        """The same node, were these its pods."""
        imagined = NodeState(self.name)
        imagined.labels, imagined.spec, imagined.taints = self.labels, self.spec, self.taints
        imagined.is_unschedulable = self.is_unschedulable
        imagined.allocatable = self.allocatable
        for pod in pods:
            imagined.add(pod)
        return imagined

    def share_used(self, resource: str, more: int) -> float:
        """From 0 to 1: how much of a resource would be used with so much more, suppositions
        about pods that request nothing included."""
        has = self.allocatable.get(resource)
        if not has:
            return 1.0
        share = (self.nonzero_requested.get(resource, 0) + more) / has
        return share if share < 1.0 else 1.0

    def pods_of(self, owner_uid: str) -> int:
        """How many pods here belong to this controller."""
        return self._by_owner.get(owner_uid, 0)

    def _count(self, pod: PodView, sign: int) -> None:
        self.version += 1
        if pod.owner_uid:
            left = self._by_owner.get(pod.owner_uid, 0) + sign
            self._by_owner[pod.owner_uid] = left
            if not left:
                del self._by_owner[pod.owner_uid]
        for name, units in pod.requests.items():
            self.requested[name] = self.requested.get(name, 0) + sign * units
        for name, units in pod.nonzero_requests.items():
            self.nonzero_requested[name] = self.nonzero_requested.get(name, 0) + sign * units

    def __repr__(self) -> str:
        return f"<NodeState {self.name} with {len(self.pods)} pods>"
