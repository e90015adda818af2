"""All nodes with their pods, assumed ones included (Kubernetes: the scheduler cache). Pure.

Informer events confirm; ``assume`` runs ahead of them, so that the next pod sees where the last one
went although its binding is still under way. Invariant: a pod is on at most one node, and an
assumption ends by being confirmed, by being forgotten, or with its pod.
"""

from __future__ import annotations

from collections.abc import Sequence

from proreus.api.object import KubeObject
from proreus.cluster.scheduler.node import NodeState
from proreus.cluster.scheduler.pod import PodView


class ClusterState:
    """O(1) per event; ``nodes`` is made anew only when a node came or went."""

    def __init__(self) -> None:
        self._nodes: dict[str, NodeState] = {}
        self._node_of: dict[str, str] = {}  # pod uid → node
        self._assumed: set[str] = set()
        self._nominations: dict[str, str] = {}  # pod uid → node
        self._known: list[NodeState] | None = None

    @property
    def nodes(self) -> Sequence[NodeState]:
        """The nodes whose object was seen."""
        if self._known is None:
            self._known = [node for node in self._nodes.values() if node.is_known]
        return self._known

    def node(self, name: str) -> NodeState:
        """Raises ``KeyError``."""
        return self._nodes[name]

    def put_node(self, node: KubeObject) -> None:
        self._at(node.name).update(node)
        self._known = None

    def remove_node(self, name: str) -> None:
        """Its pods are remembered: they are still bound to it, should it come back."""
        known = self._nodes.get(name)
        self._known = None
        if known is None:
            return
        if known.pods:
            known.leave()
        else:
            del self._nodes[name]

    def nominate(self, pod: PodView, node: str) -> None:
        """Victims are being evicted for the pod on that node: others must not use the resources."""
        self.withdraw_nomination(pod.uid)
        self._nominations[pod.uid] = node
        self._at(node).nominated[pod.uid] = pod

    def withdraw_nomination(self, uid: str) -> None:
        node = self._nominations.pop(uid, None)
        if node is not None and node in self._nodes:
            self._nodes[node].nominated.pop(uid, None)

    def nomination(self, uid: str) -> NodeState | None:
        return self._nodes.get(self._nominations.get(uid, ""))

    def put_pod(self, pod: PodView) -> None:
        """The server says that the pod is on ``pod.node_name``."""
        self.withdraw_nomination(pod.uid)
        self._assumed.discard(pod.uid)
        self._place(pod, pod.node_name)

    def confirm(self, uid: str, decided_on: str, node: str) -> bool:
        """The server says that the pod is on ``node``, else as in its state ``decided_on``.
        Whether that is what was assumed; if not, ``put_pod`` it."""
        if uid not in self._assumed or self._node_of.get(uid) != node:
            return False
        if self._nodes[node].pods[uid].resource_version != decided_on:
            return False
        self._assumed.discard(uid)
        return True

    def remove_pod(self, uid: str) -> bool:
        """Gone or finished. Says whether that freed anything."""
        self.withdraw_nomination(uid)
        self._assumed.discard(uid)
        return self._take(uid)

    def assume(self, pod: PodView, node: str) -> None:
        self.withdraw_nomination(pod.uid)
        self._assumed.add(pod.uid)
        self._place(pod, node)

    def is_placed(self, uid: str) -> bool:
        return uid in self._node_of

    def forget(self, uid: str) -> bool:
        """The binding failed. A pod that the server has confirmed meanwhile stays."""
        if uid not in self._assumed:
            return False
        self._assumed.discard(uid)
        return self._take(uid)

    def _place(self, pod: PodView, node: str) -> None:
        if self._node_of.get(pod.uid, node) != node:
            self._take(pod.uid)
        self._node_of[pod.uid] = node
        self._at(node).add(pod)

    def _take(self, uid: str) -> bool:
        node = self._node_of.pop(uid, None)
        return node is not None and self._nodes[node].remove(uid) is not None

    def _at(self, name: str) -> NodeState:
        node = self._nodes.get(name)
        if node is None:
            node = self._nodes[name] = NodeState(name)
        return node

    def __repr__(self) -> str:
        return (
            f"<ClusterState: {len(self.nodes)} nodes, {len(self._node_of)} pods, "
            f"{len(self._assumed)} of them assumed>"
        )
