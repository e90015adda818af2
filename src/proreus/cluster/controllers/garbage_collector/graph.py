"""The graph of owner references over all resources, as the informers report it. Pure.

``put`` and ``remove`` return the uids to process because of the change. An owner that is not in the
graph may be unknown yet, or gone: a live read decides.
Cost: per change O(owners of the object), and O(its dependents) when it begins to go.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from proreus.api.finalizers import FOREGROUND, ORPHAN
from proreus.api.object import KubeObject
from proreus.client.discovery.api_resource import ApiResource


class OwnerReference(msgspec.Struct, frozen=True, gc=False):
    """A reference to an owner."""

    api_version: str
    kind: str
    name: str
    uid: str
    blocks: bool  # the owner's foreground deletion waits for this object


class Node(msgspec.Struct, frozen=True, gc=False):
    """One object. A struct, as its reference is: one is made at every change of every object."""

    resource: ApiResource
    namespace: str
    name: str
    uid: str
    owners: tuple[OwnerReference, ...] = ()
    is_deleting: bool = False
    finalizers: frozenset[str] = frozenset()

    def blocks(self, uid: str) -> bool:
        return any(owner.uid == uid and owner.blocks for owner in self.owners)

    @property
    def waits_for_dependents(self) -> bool:
        return self.is_deleting and FOREGROUND in self.finalizers

    @property
    def leaves_orphans(self) -> bool:
        return self.is_deleting and ORPHAN in self.finalizers


class _Reference(msgspec.Struct, gc=False):
    apiVersion: str | None = None
    kind: str | None = None
    name: str | None = None
    uid: str | None = None
    blockOwnerDeletion: bool | None = None


class _Metadata(msgspec.Struct, gc=False):
    ownerReferences: list[_Reference] | None = None
    deletionTimestamp: str | None = None
    finalizers: list[str] | None = None


class _Object(msgspec.Struct, gc=False):
    metadata: _Metadata = msgspec.field(default_factory=_Metadata)


_decode = msgspec.json.Decoder(_Object).decode


def node_of(resource: ApiResource, obj: KubeObject) -> Node:
    metadata = _decode(obj.raw).metadata
    return Node(
        resource,
        obj.namespace,
        obj.name,
        obj.uid,
        tuple(_owners(metadata)),
        bool(metadata.deletionTimestamp),
        frozenset(metadata.finalizers or ()),
    )


def owners_of(obj: KubeObject) -> list[OwnerReference]:
    return _owners(_decode(obj.raw).metadata)


def _owners(metadata: _Metadata) -> list[OwnerReference]:
    return [
        OwnerReference(
            one.apiVersion or "",
            one.kind or "",
            one.name or "",
            one.uid or "",
            bool(one.blockOwnerDeletion),
        )
        for one in metadata.ownerReferences or ()
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

    def owner_of(self, node: Node, owner: OwnerReference) -> Node | None:
        """The object that a reference means, if it is known. A reference with the uid of another
        kind, name or namespace means nothing that exists."""
        found = self._nodes.get(owner.uid)
        if found is None or (found.resource.kind, found.name) != (owner.kind, owner.name):
            return None
        is_in_reach = not found.resource.namespaced or found.namespace == node.namespace
        return found if is_in_reach else None

    def has_living_owners(self, node: Node) -> bool:
        """All its owners are known, and none waits for its dependents to go."""
        known = (self.owner_of(node, owner) for owner in node.owners)
        return all(one is not None and not one.waits_for_dependents for one in known)

    def is_unblocked(self, uid: str) -> bool:
        """Whether a foreground deletion has nothing left to wait for.

        Objects that block each other in a circle are held by nobody else: they may go once all of
        them are being deleted in the foreground and nothing outside the circle blocks one of them.
        Cost: without circles the search goes down one chain of dependents and ends with it.
        """
        closure: set[str] = set()
        pending = [self._blockers(uid)]
        while pending:
            one = next(pending[-1], None)
            if one is None:
                pending.pop()
            elif one not in closure:
                closure.add(one)
                is_waiting = self._nodes[one].waits_for_dependents
                if not is_waiting or next(self._blockers(one), None) is None:
                    return False  # it goes by itself, and before this one
                pending.append(self._blockers(one))
        # A circle is closed: whatever blocks the object is blocked by it in turn.
        returning, edge = set[str](), [uid]
        while edge:
            node = self._nodes[edge.pop()]
            found = {owner.uid for owner in node.owners if owner.blocks}
            fresh = (found & closure) - returning
            returning |= fresh
            edge += fresh
        return returning == closure

    def _blockers(self, uid: str) -> Iterator[str]:
        """The dependents for which the object's foreground deletion waits."""
        found = self._dependents.get(uid, ())
        return (one for one in found if self._nodes[one].blocks(uid))

    def put(self, node: Node) -> list[str]:
        old = self._nodes.get(node.uid)
        if node == old and not node.is_deleting:
            return []  # a status, as most changes are
        self._unlink(old)
        self._nodes[node.uid] = node
        for owner in node.owners:
            self._dependents.setdefault(owner.uid, set()).add(node.uid)
        found = self._owners_in_wait(old)
        if node.waits_for_dependents or node.leaves_orphans:
            found.append(node.uid)
        if node.waits_for_dependents and not (old is not None and old.waits_for_dependents):
            found += self._dependents.get(node.uid, ())
        if not self.has_living_owners(node):
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
