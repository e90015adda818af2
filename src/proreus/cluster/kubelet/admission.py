"""Kubelet admission: whether a pod that was bound to a node may run there.

The scheduler has checked the same, but pods may name their node themselves, and two schedulers may
have counted on the same resources. A pod that is not admitted has failed for good; its owner makes
another one. Only pods that have not started are checked: a kubelet's restart ends none.

``NodeAllocations`` is the state of one process: what its nodes have allocated. No I/O.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from proreus.api.object import KubeObject, plain_field
from proreus.cluster.kubelet.resize import DEFERRED, INFEASIBLE, ResizeRefusal
from proreus.cluster.pod_status import is_finished
from proreus.cluster.scheduler import resources
from proreus.cluster.scheduler.filters import node_affinity, ports
from proreus.cluster.scheduler.filters.taints import untolerated
from proreus.cluster.scheduler.node import NodeState
from proreus.cluster.scheduler.pod import PodView

NODE_AFFINITY = "NodeAffinity"
_OS = "linux"
# Which a container may set without harm to its node, or to other pods there.
_SAFE_SYSCTLS = frozenset(
    {
        "kernel.shm_rmid_forced",
        "net.ipv4.ip_local_port_range",
        "net.ipv4.ip_local_reserved_ports",
        "net.ipv4.ip_unprivileged_port_start",
        "net.ipv4.ping_group_range",
        "net.ipv4.tcp_fin_timeout",
        "net.ipv4.tcp_keepalive_intvl",
        "net.ipv4.tcp_keepalive_probes",
        "net.ipv4.tcp_keepalive_time",
        "net.ipv4.tcp_rmem",
        "net.ipv4.tcp_syncookies",
        "net.ipv4.tcp_wmem",
    }
)
_TAINTS = "node(s) had taints that the pod didn't tolerate"


@dataclass(frozen=True, slots=True)
class Rejection:
    """Reason and message in Kubernetes' words."""

    reason: str
    message: str


class NodeAllocations:
    """``current`` finds a pod's latest object by its key, as the source of all pods says."""

    def __init__(self, current: Callable[[str], KubeObject | None]) -> None:
        self._current = current
        self._nodes: dict[str, NodeState] = {}
        self._objects: dict[str, KubeObject] = {}

    def take(self, pod: KubeObject) -> None:
        """Allocate for a pod that runs already."""
        self._node(pod.spec.nodeName).add(PodView.read(pod))

    def admit(self, pod: KubeObject, node: KubeObject | None) -> Rejection | None:
        """None: it may run, and is allocated. Without a known node no room is needed."""
        if (forbidden := _forbidden_sysctl(pod)) is not None:
            return forbidden
        view = PodView.read(pod)
        state = self._updated(view.node_name, node)
        rejection = _rejection(view, state)
        if rejection is not None and self._drop_finished(state):
            rejection = _rejection(view, state)
        if rejection is None:
            state.add(view)
        return rejection

    def resize(self, pod: KubeObject, node: KubeObject | None) -> ResizeRefusal | None:
        """None: a pod that runs is allocated what it asks for now."""
        view, state = PodView.read(pod), self._updated(pod.spec.nodeName, node)
        refusal = _resize_refusal(view, state)
        if refusal is not None and self._drop_finished(state):
            refusal = _resize_refusal(view, state)
        if refusal is None:
            state.add(view)
        return refusal

    def release(self, node: str, uid: str) -> None:
        self._node(node).remove(uid)

    def _drop_finished(self, state: NodeState) -> bool:
        """Release pods that the informer shows as finished, reconciled or not: the scheduler
        may have reused their resources. Whether there were any."""
        gone = [view.uid for view in state.pods.values() if not self._is_there(view)]
        for uid in gone:
            state.remove(uid)
        return bool(gone)

    def _is_there(self, view: PodView) -> bool:
        found = self._current(view.key)
        return found is not None and found.uid == view.uid and not is_finished(found)

    def _updated(self, name: str, node: KubeObject | None) -> NodeState:
        state = self._node(name)
        if node is not None and self._objects.get(name) is not node:
            self._objects[name] = node
            state.update(node)
        return state

    def _node(self, name: str) -> NodeState:
        return self._nodes.setdefault(name, NodeState(name))

    def __repr__(self) -> str:
        return f"<NodeAllocations of {len(self._nodes)} nodes>"


def _forbidden_sysctl(pod: KubeObject) -> Rejection | None:
    security = plain_field(pod, "spec").get("securityContext") or {}
    for sysctl in security.get("sysctls") or ():
        if sysctl["name"].replace("/", ".") not in _SAFE_SYSCTLS:
            text = f'forbidden sysctl: "{sysctl["name"]}" not allowlisted'
            return Rejection("SysctlForbidden", text)
    return None


def _rejection(pod: PodView, node: NodeState) -> Rejection | None:
    """Kubernetes' order; the first counts."""
    if ((pod.spec.get("os") or {}).get("name") or _OS) != _OS:
        text = "Failed to admit pod as the OS field doesn't match node OS"
        return Rejection("PodOSNotSupported", text)
    if not node.is_known:
        return None
    for rejection in _insufficient_resources(pod, node):
        return rejection
    for name, node_filter in ((NODE_AFFINITY, node_affinity), ("NodePorts", ports)):
        refuse = node_filter.node_filter(pod)
        if refuse is not None and (why := refuse(node)) is not None:
            return Rejection(name, f"Predicate {name} failed: {why}")
    for _ in untolerated(node.taints, pod.tolerations, ("NoExecute",)):
        return Rejection("TaintToleration", f"Predicate TaintToleration failed: {_TAINTS}")
    return None


def _insufficient_resources(pod: PodView, node: NodeState) -> Iterator[Rejection]:
    has = node.allocatable
    if len(node.pods) >= has.get(resources.PODS, 0):
        yield _insufficient(resources.PODS, 1, len(node.pods), has.get(resources.PODS, 0))
    for name, wanted in pod.requests.items():
        # An extended resource that the node does not report ("example.com/licence") is not checked.
        if wanted <= 0 or ("/" in name and name not in has):
            continue
        used, capacity = node.requested.get(name, 0), has.get(name, 0)
        if wanted > capacity - used:
            yield _insufficient(name, wanted, used, capacity)


def _resize_refusal(pod: PodView, node: NodeState) -> ResizeRefusal | None:
    if not node.is_known:
        return None
    before = node.pods[pod.uid].requests if pod.uid in node.pods else {}
    for name, wanted in pod.requests.items():
        capacity, had = node.allocatable.get(name, 0), before.get(name, 0)
        used = node.requested.get(name, 0) - had
        if wanted <= had:
            continue
        if wanted > capacity:
            numbers = f"requested: {wanted}, capacity: {capacity}"
            text = f"Node didn't have enough capacity: {name}, {numbers}"
            return ResizeRefusal(INFEASIBLE, text)
        if wanted > capacity - used:
            return ResizeRefusal(DEFERRED, _insufficient(name, wanted, used, capacity).message)
    return None


def _insufficient(name: str, wanted: int, used: int, capacity: int) -> Rejection:
    numbers = f"requested: {wanted}, used: {used}, capacity: {capacity}"
    text = f"Node didn't have enough resource: {name}, {numbers}"
    return Rejection(f"OutOf{name}", text)
