"""Who owns whom, over all resources, as far as the informers have told. Pure.

``put`` and ``remove`` answer which objects must be looked at because of the change. Owners that
were never seen are no error: they may be unknown yet, or gone, and a live look tells.
Cost: per change O(owners of the object), and O(its dependents) when it begins to go.
"""

from __future__ import annotations

from dataclasses import dataclass

from proreus.api.object import KubeObject
from proreus.client.discovery.api_resource import ApiResource

ORPHAN = "orphan"
FOREGROUND = "foregroundDeletion"


@dataclass(frozen=True, slots=True)
class Owner:
    """A reference to an owner."""

    api_version: str
    kind: str
    name: str
    uid: str
    blocks: bool  # the owner's foreground deletion waits for this object


@dataclass(frozen=True, slots=True)
class Node:
    """One object."""

    resource: ApiResource
    namespace: str
    name: str
    uid: str
    owners: tuple[Owner, ...] = ()
    is_deleting: bool = False
    finalizers: frozenset[str] = frozenset()

    @property
    def waits_for_dependents(self) -> bool:
        return self.is_deleting and FOREGROUND in self.finalizers

    @property
    def leaves_orphans(self) -> bool:
        return self.is_deleting and ORPHAN in self.finalizers


def node_of(resource: ApiResource, obj: KubeObject) -> Node:
    metadata = obj.metadata
    return Node(
        resource,
        obj.namespace,
        obj.name,
        obj.uid,
        tuple(owners_of(obj)),
        bool(metadata.deletionTimestamp),
        frozenset(metadata.finalizers or ()),
    )


def owners_of(obj: KubeObject) -> list[Owner]:
    return [
        Owner(
            one.get("apiVersion") or "",
            one.get("kind") or "",
            one.get("name") or "",
            one.get("uid") or "",
            bool(one.get("blockOwnerDeletion")),
        )
        for one in obj.metadata.ownerReferences or ()
    ]


class Graph:
    """Nodes by uid, and dependents by the uid of their owner."""

    def __init__(self) -> None:
        self._nodes: dict[str, Node] = {}
        self._dependents: dict[str, set[str]] = {}

    def __len__(self) -> int:
        return len(self._nodes)

    def get(self, uid: str) -> Node | None:
        return self._nodes.get(uid)

    def dependents(self, uid: str) -> list[Node]:
        return [self._nodes[one] for one in self._dependents.get(uid, ())]

    def is_alive(self, uid: str) -> bool:
        """Known, and not waiting for its dependents to go."""
        node = self._nodes.get(uid)
        return node is not None and not node.waits_for_dependents

    def put(self, node: Node) -> list[str]:
        old = self._nodes.get(node.uid)
        self._unlink(old)
        self._nodes[node.uid] = node
        for owner in node.owners:
            self._dependents.setdefault(owner.uid, set()).add(node.uid)
        found = self._owners_in_wait(old)
        if node.waits_for_dependents or node.leaves_orphans:
            found.append(node.uid)
        if node.waits_for_dependents and not (old is not None and old.waits_for_dependents):
            found += self._dependents.get(node.uid, ())
        if any(not self.is_alive(owner.uid) for owner in node.owners):
            found.append(node.uid)
        return list(dict.fromkeys(found))

    def remove(self, uid: str) -> list[str]:
        old = self._nodes.pop(uid, None)
        self._unlink(old)
        return list(dict.fromkeys([*self._dependents.get(uid, ()), *self._owners_in_wait(old)]))

    def uids_of(self, resource: ApiResource) -> list[str]:
        return [uid for uid, node in self._nodes.items() if node.resource == resource]

    def _owners_in_wait(self, node: Node | None) -> list[str]:
        """Owners whose deletion this object may no longer block."""
        found = [self._nodes.get(owner.uid) for owner in node.owners] if node is not None else []
        return [one.uid for one in found if one is not None and one.waits_for_dependents]

    def _unlink(self, node: Node | None) -> None:
        for owner in node.owners if node is not None else ():
            linked = self._dependents.get(owner.uid)
            if linked is not None:
                linked.discard(node.uid if node is not None else "")
                if not linked:
                    del self._dependents[owner.uid]
