"""What happens to one object that the graph named: kept, freed of dead owners, deleted, let go."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any

from proreus.api.group_version import GroupKind, GroupVersion
from proreus.api.object import KubeObject
from proreus.api.status import NotFound
from proreus.client.client import Client
from proreus.client.discovery.api_resource import ApiResource
from proreus.client.resources.resource_client import ResourceClient
from proreus.cluster.controllers.discovered import client_of
from proreus.cluster.controllers.garbage_collector.graph import (
    FOREGROUND,
    ORPHAN,
    Graph,
    Node,
    Owner,
    owners_of,
)
from proreus.cluster.controllers.ownership import is_deleting

_ABSENT_MAX = 500


@dataclass(frozen=True, slots=True)
class Owners:
    """References by what became of their owners."""

    solid: tuple[Owner, ...]
    dangling: tuple[Owner, ...]
    waiting: tuple[Owner, ...]  # being deleted, and waiting for this object


class Attending:
    def __init__(self, client: Client, graph: Graph, enqueue: Callable[[str], None]) -> None:
        self._client = client
        self._graph = graph
        self._enqueue = enqueue
        self._absent: dict[str, None] = {}  # uids never come back, so absence may be remembered

    async def attend(self, uid: str) -> None:
        node = self._graph.get(uid)
        if node is None:
            return
        if node.leaves_orphans:
            await self._orphan(node)
        elif node.waits_for_dependents:
            await self._await_dependents(node)
        elif not node.is_deleting and node.owners:
            await self._judge(node)

    async def _judge(self, node: Node) -> None:
        if all(self._graph.is_alive(owner.uid) for owner in node.owners):
            return
        try:
            live = await self._api(node).get(node.name)
        except NotFound:
            return
        if live.uid != node.uid or is_deleting(live):
            return
        owners = await self._classify(node, owners_of(live))
        if owners.solid:
            if owners.dangling or owners.waiting:
                gone = {one.uid for one in (*owners.dangling, *owners.waiting)}
                await self._drop_owners(node, live, gone)
        elif owners.dangling or owners.waiting:
            await self._delete(node, live, foreground=bool(owners.waiting))

    async def _classify(self, node: Node, references: list[Owner]) -> Owners:
        solid: list[Owner] = []
        dangling: list[Owner] = []
        waiting: list[Owner] = []
        for owner in references:
            known = self._graph.get(owner.uid)
            if known is not None:
                (waiting if known.waits_for_dependents else solid).append(owner)
            elif await self._is_absent(node, owner):
                dangling.append(owner)
            else:
                solid.append(owner)
        return Owners(tuple(solid), tuple(dangling), tuple(waiting))

    async def _is_absent(self, node: Node, owner: Owner) -> bool:
        if owner.uid in self._absent:
            return True
        resource = await self._resource(owner)
        if resource.namespaced and not node.namespace:
            return False  # such an owner can never be looked up; the object is left alone
        api = client_of(self._client, resource)(node.namespace if resource.namespaced else "")
        try:
            found = await api.metadata_only.get(owner.name)
        except NotFound:
            pass
        else:
            if found.uid == owner.uid:
                return False
        self._absent[owner.uid] = None
        while len(self._absent) > _ABSENT_MAX:
            del self._absent[next(iter(self._absent))]
        return True

    async def _resource(self, owner: Owner) -> ApiResource:
        gv = GroupVersion.parse(owner.api_version)
        kind = GroupKind(gv.group, owner.kind)
        return await self._client.discovery.find(lambda mapper: mapper.by_kind(kind, gv.version))

    async def _delete(self, node: Node, live: KubeObject, *, foreground: bool) -> None:
        finalizers = live.metadata.finalizers or ()
        if foreground and self._graph.dependents(node.uid):
            policy = "Foreground"
        elif ORPHAN in finalizers:
            policy = "Orphan"
        elif FOREGROUND in finalizers:
            policy = "Foreground"
        else:
            policy = "Background"
        try:
            await self._api(node).delete(
                node.name,
                propagation=policy,
                uid=live.uid,
                resource_version=live.resource_version,
            )
        except NotFound:
            return

    async def _await_dependents(self, node: Node) -> None:
        """Let the owner go once nothing that blocks it is left; until then see that it goes."""
        dependents = self._graph.dependents(node.uid)
        if not any(_blocks(one, node.uid) for one in dependents):
            await self._drop_finalizer(node, FOREGROUND)
            return
        for one in dependents:
            if not one.is_deleting:
                self._enqueue(one.uid)

    async def _orphan(self, node: Node) -> None:
        for dependent in self._graph.dependents(node.uid):
            try:
                live = await self._api(dependent).get(dependent.name)
            except NotFound:
                continue
            if live.uid == dependent.uid:
                await self._drop_owners(dependent, live, {node.uid})
        await self._drop_finalizer(node, ORPHAN)

    async def _drop_owners(self, node: Node, live: KubeObject, gone: Collection[str]) -> None:
        kept = [
            dict(one) for one in live.metadata.ownerReferences or () if one.get("uid") not in gone
        ]
        await self._patch(node, live, {"ownerReferences": kept or None})

    async def _drop_finalizer(self, node: Node, finalizer: str) -> None:
        try:
            live = await self._api(node).get(node.name)
        except NotFound:
            return
        present = list(live.metadata.finalizers or ())
        if live.uid == node.uid and finalizer in present:
            kept = [one for one in present if one != finalizer]
            await self._patch(node, live, {"finalizers": kept or None})

    async def _patch(self, node: Node, live: KubeObject, metadata: dict[str, Any]) -> None:
        """A merge patch, which every kind takes; the version guards what it was computed from."""
        guarded = {**metadata, "uid": live.uid, "resourceVersion": live.resource_version}
        try:
            await self._api(node).patch(node.name, {"metadata": guarded})
        except NotFound:
            return

    def _api(self, node: Node) -> ResourceClient:
        return client_of(self._client, node.resource)(node.namespace).metadata_only


def _blocks(dependent: Node, owner_uid: str) -> bool:
    return any(owner.uid == owner_uid and owner.blocks for owner in dependent.owners)
