"""Which objects the pods of a node need: node ← pod ← secret, config map, claim ← volume ← secret.

Kept by counting, so that a question is a few lookups however many pods there are. One writer.
Cost: a pod is read when its node asks for the first time, so that the writes of a server without
kubelets pay for none of this.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable

from proreus.server.authz.node.references import CLAIM, POD, NodeReference

VOLUME, ATTACHMENT, SLICE = "persistentvolume", "volumeattachment", "resourceslice"
CERTIFICATE_REQUEST = "podcertificaterequest"
_OWNED = (ATTACHMENT, SLICE, CERTIFICATE_REQUEST)


class NodeGraph:
    """``read_pod`` says what a pod needs that is bound to a node, once after it was put; None while
    that cannot be known."""

    def __init__(self, read_pod: Callable[[NodeReference], Iterable[NodeReference] | None]) -> None:
        self._read_pod = read_pod
        self._bound: dict[NodeReference, str] = {}  # pod → its node
        self._unread: dict[str, set[NodeReference]] = {}  # node → pods that were not read yet
        self._needed: dict[NodeReference, frozenset[NodeReference]] = {}  # pod → what it needs
        self._nodes: dict[NodeReference, Counter[str]] = {}  # object → nodes whose pods need it
        self._claims: dict[str, NodeReference] = {}  # volume → the claim that it is bound to
        self._secrets: dict[str, frozenset[NodeReference]] = {}  # volume → what mounting it needs
        self._volumes: dict[NodeReference, set[str]] = {}  # secret → volumes that need it
        self._owned: dict[NodeReference, str] = {}  # what names its node itself → that

    def has_pod(self, pod: NodeReference) -> bool:
        return pod in self._bound

    def put_pod(self, pod: NodeReference, node: str) -> None:
        self.remove_pod(pod)
        self._bound[pod] = node
        self._unread.setdefault(node, set()).add(pod)

    def remove_pod(self, pod: NodeReference) -> None:
        node = self._bound.pop(pod, None)
        if node is None:
            return
        unread = self._unread.get(node)
        if unread is not None and pod in unread:
            unread.discard(pod)
            if not unread:
                del self._unread[node]
            return
        for reference in self._needed.pop(pod):
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
            self._bound.clear()
            self._unread.clear()
            self._needed.clear()
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
        if node in self._unread:
            self._read_pods(node)
        if reference.kind == VOLUME:
            return self._is_claimed(node, reference.name)
        if node in self._nodes.get(reference, ()):
            return True
        return any(self._is_claimed(node, name) for name in self._volumes.get(reference, ()))

    def _read_pods(self, node: str) -> None:
        for pod in self._unread.pop(node):
            references = self._read_pod(pod)
            if references is None:
                self._unread.setdefault(node, set()).add(pod)
                continue
            needed = self._needed[pod] = frozenset((*references, pod))
            for reference in needed:
                self._nodes.setdefault(reference, Counter())[node] += 1

    def _is_claimed(self, node: str, volume: str) -> bool:
        claim = self._claims.get(volume)
        return claim is not None and node in self._nodes.get(claim, ())

    def __repr__(self) -> str:
        return f"<NodeGraph: {len(self._bound)} pods, {len(self._needed)} of them read>"
