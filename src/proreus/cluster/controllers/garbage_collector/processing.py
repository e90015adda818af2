"""Processes one object of the graph: drops owner references, deletes it, removes its finalizer."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import assert_never

from proreus.api.finalizers import ORPHAN
from proreus.api.group_version import GroupKind, GroupVersion
from proreus.api.json_types import JsonObject
from proreus.api.object import KubeObject
from proreus.api.status import NotFound
from proreus.client.client import Client
from proreus.client.discovery.api_resource import ApiResource
from proreus.client.resources.resource_client import ResourceClient
from proreus.cluster.controllers.discovered import resource_client
from proreus.cluster.controllers.garbage_collector.decisions import (
    DeleteObject,
    DropOwners,
    Keep,
    LookUp,
    Orphan,
    Owners,
    RemoveFinalizer,
    decide_by_owners,
    next_step,
)
from proreus.cluster.controllers.garbage_collector.graph import (
    Graph,
    Node,
    OwnerReference,
    owners_of,
)
from proreus.cluster.pod_status import is_deleting

_ABSENT_MAX = 500


class ObjectProcessor:
    def __init__(self, client: Client, graph: Graph) -> None:
        self._client = client
        self._graph = graph
        # Uids never come back, so absence may be remembered: by namespace, because a reference from
        # elsewhere means nothing, whatever has its uid.
        self._absent: dict[tuple[str, OwnerReference], None] = {}

    async def process(self, uid: str) -> None:
        node = self._graph.get(uid)
        if node is None:
            return
        match next_step(self._graph, uid):
            case Keep():
                return
            case LookUp():
                await self._decide_live(node)
            case Orphan(dependents):
                await self._orphan_dependents(node, dependents)
            case RemoveFinalizer(finalizer):
                await self._remove_finalizer(node, finalizer)
            case step:
                assert_never(step)

    async def _decide_live(self, node: Node) -> None:
        try:
            live = await self._api(node).get(node.name)
        except NotFound:
            return
        if live.uid != node.uid or is_deleting(live):
            return
        owners = await self._classify(node, owners_of(live))
        finalizers = frozenset(live.metadata.finalizers or ())
        match decide_by_owners(owners, finalizers, lambda: bool(self._graph.dependents(node.uid))):
            case Keep():
                return
            case DropOwners(uids):
                await self._remove_owner_references(node, live, uids)
            case DeleteObject(propagation):
                await self._delete(node, live, propagation)
            case decision:
                assert_never(decision)

    async def _classify(self, node: Node, references: list[OwnerReference]) -> Owners:
        solid: set[str] = set()
        dangling: set[str] = set()
        waiting: set[str] = set()
        for owner in references:
            known = self._graph.owner_of(node, owner)
            if known is not None:
                (waiting if known.waits_for_dependents else solid).add(owner.uid)
            elif await self._is_absent(node, owner):
                dangling.add(owner.uid)
            else:
                solid.add(owner.uid)
        return Owners(frozenset(solid), frozenset(dangling), frozenset(waiting))

    async def _is_absent(self, node: Node, owner: OwnerReference) -> bool:
        place = node.namespace, owner
        if place in self._absent:
            return True
        resource = await self._resource(owner)
        if resource.namespaced and not node.namespace:
            return False  # such an owner can never be looked up; the object is left alone
        api = resource_client(self._client, resource)
        if resource.namespaced:
            api = api.in_namespace(node.namespace)
        try:
            found = await api.metadata_only.get(owner.name)
        except NotFound:
            pass
        else:
            if found.uid == owner.uid:
                return False
        self._absent[place] = None
        while len(self._absent) > _ABSENT_MAX:
            del self._absent[next(iter(self._absent))]
        return True

    async def _resource(self, owner: OwnerReference) -> ApiResource:
        gv = GroupVersion.parse(owner.api_version)
        kind = GroupKind(gv.group, owner.kind)
        return await self._client.discovery.find(lambda mapper: mapper.by_kind(kind, gv.version))

    async def _delete(self, node: Node, live: KubeObject, propagation: str) -> None:
        try:
            await self._api(node).delete(
                node.name,
                propagation=propagation,
                uid=live.uid,
                resource_version=live.resource_version,
            )
        except NotFound:
            return

    async def _orphan_dependents(self, node: Node, dependents: Iterable[Node]) -> None:
        for dependent in dependents:
            try:
                live = await self._api(dependent).get(dependent.name)
            except NotFound:
                continue
            if live.uid == dependent.uid:
                await self._remove_owner_references(dependent, live, {node.uid})
        await self._remove_finalizer(node, ORPHAN)

    async def _remove_owner_references(
        self, node: Node, live: KubeObject, gone: Collection[str]
    ) -> None:
        kept = [
            dict(one) for one in live.metadata.ownerReferences or () if one.get("uid") not in gone
        ]
        await self._patch(node, live, {"ownerReferences": kept or None})

    async def _remove_finalizer(self, node: Node, finalizer: str) -> None:
        try:
            live = await self._api(node).get(node.name)
        except NotFound:
            return
        present = list(live.metadata.finalizers or ())
        if live.uid == node.uid and finalizer in present:
            kept = [one for one in present if one != finalizer]
            await self._patch(node, live, {"finalizers": kept or None})

    async def _patch(self, node: Node, live: KubeObject, metadata: JsonObject) -> None:
        """A merge patch, which every kind takes; the version guards what it was computed from."""
        guarded = {**metadata, "uid": live.uid, "resourceVersion": live.resource_version}
        try:
            await self._api(node).patch(node.name, {"metadata": guarded})
        except NotFound:
            return

    def _api(self, node: Node) -> ResourceClient:
        found = resource_client(self._client, node.resource)
        return (found.in_namespace(node.namespace) if node.namespace else found).metadata_only
