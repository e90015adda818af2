"""Which objects the pods of a node need: node ← pod ← secret, config map, claim ← volume ← secret.

Kept by counting, so that a question is a few lookups however many pods there are. One writer.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from proreus.server.authz.node.references import CLAIM, POD, NodeReference

VOLUME, ATTACHMENT, SLICE = "persistentvolume", "volumeattachment", "resourceslice"
CERTIFICATE_REQUEST = "podcertificaterequest"
_OWNED = (ATTACHMENT, SLICE, CERTIFICATE_REQUEST)


class NodeGraph:
    def __init__(self) -> None:
        self._pods: dict[NodeReference, tuple[str, frozenset[NodeReference]]] = {}
        self._nodes: dict[NodeReference, Counter[str]] = {}  # object → nodes whose pods need it
        self._claims: dict[str, NodeReference] = {}  # volume → the claim that it is bound to
        self._secrets: dict[str, frozenset[NodeReference]] = {}  # volume → what mounting it needs
        self._volumes: dict[NodeReference, set[str]] = {}  # secret → volumes that need it
        self._owned: dict[NodeReference, str] = {}  # what names its node itself → that

    def has_pod(self, namespace: str, name: str) -> bool:
        return NodeReference(POD, namespace, name) in self._pods

    def put_pod(
        self, namespace: str, name: str, node: str, references: Iterable[NodeReference]
    ) -> None:
        self.remove_pod(namespace, name)
        pod = NodeReference(POD, namespace, name)
        needed = frozenset(references) | {pod}
        self._pods[pod] = (node, needed)
        for reference in needed:
            self._nodes.setdefault(reference, Counter())[node] += 1

    def remove_pod(self, namespace: str, name: str) -> None:
        node, needed = self._pods.pop(NodeReference(POD, namespace, name), ("", frozenset()))
        for reference in needed:
            nodes = self._nodes[reference]
            nodes[node] -= 1
            if not nodes[node]:
                del nodes[node]
            if not nodes:
                del self._nodes[reference]

    def put_volume(
        self, name: str, claim: tuple[str, str] | None, secrets: Iterable[NodeReference]
    ) -> None:
        """``claim``: namespace and name; None: it is bound to none."""
        self.remove_volume(name)
        if claim is None:
            return
        self._claims[name] = NodeReference(CLAIM, *claim)
        self._secrets[name] = frozenset(secrets)
        for secret in self._secrets[name]:
            self._volumes.setdefault(secret, set()).add(name)

    def remove_volume(self, name: str) -> None:
        self._claims.pop(name, None)
        for secret in self._secrets.pop(name, ()):
            self._volumes[secret].discard(name)
            if not self._volumes[secret]:
                del self._volumes[secret]

    def put_owned(self, reference: NodeReference, node: str) -> None:
        self._owned[reference] = node

    def remove_owned(self, reference: NodeReference) -> None:
        self._owned.pop(reference, None)

    def clear(self, kind: str) -> None:
        """Everything that was put of a kind."""
        if kind == POD:
            self._pods.clear()
            self._nodes.clear()
        elif kind == VOLUME:
            self._claims.clear()
            self._secrets.clear()
            self._volumes.clear()
        else:
            for reference in [one for one in self._owned if one.kind == kind]:
                del self._owned[reference]

    def is_related(self, node: str, reference: NodeReference) -> bool:
        """Whether the node has a pod that needs the object, or the object is the node's own."""
        if reference.kind in _OWNED:
            return self._owned.get(reference) == node
        if reference.kind == VOLUME:
            return self._is_claimed(node, reference.name)
        if node in self._nodes.get(reference, ()):
            return True
        return any(self._is_claimed(node, name) for name in self._volumes.get(reference, ()))

    def _is_claimed(self, node: str, volume: str) -> bool:
        claim = self._claims.get(volume)
        return claim is not None and node in self._nodes.get(claim, ())

    def __repr__(self) -> str:
        return f"<NodeGraph: {len(self._pods)} pods need {len(self._nodes)} objects>"
