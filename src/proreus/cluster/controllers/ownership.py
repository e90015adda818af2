"""Controller references: finding owners, adopting what matches, releasing what no longer does.

``claim`` decides, ``ClaimWriter`` writes. Invariant: nothing is adopted for an owner before a live
read has shown it with the same uid and not being deleted: the cache may be behind.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from proreus.api.json_types import JsonObject
from proreus.api.object import KubeObject
from proreus.api.selectors.labels import LabelSelector
from proreus.api.status import ApiError, Invalid, NotFound
from proreus.client.informer import SharedInformer
from proreus.client.ownership import controller_reference
from proreus.client.resources.resource_client import ResourceClient
from proreus.cluster.pod_status import is_deleting

CONTROLLER_INDEX = "controller"


class OwnerGone(Exception):
    """The owner in the cache was deleted or replaced on the server."""


@dataclass(frozen=True, slots=True)
class Claim:
    """``kept`` are ours already; ``adopted`` will be, ``released`` will not be any more."""

    kept: tuple[KubeObject, ...]
    adopted: tuple[KubeObject, ...]
    released: tuple[KubeObject, ...]


def controller_index(obj: KubeObject) -> list[str]:
    """Index function: the uid of the controller, or the orphans of the namespace."""
    return [obj.controller_uid or orphan_index_value(obj.namespace)]


def orphan_index_value(namespace: str) -> str:
    return f"orphans/{namespace}"


def candidates(informer: SharedInformer, owner: KubeObject) -> list[KubeObject]:
    """What the owner controls and what has no controller in its namespace."""
    indexer = informer.indexer
    return [
        *indexer.by_index(CONTROLLER_INDEX, owner.uid),
        *indexer.by_index(CONTROLLER_INDEX, orphan_index_value(owner.namespace)),
    ]


def claim(owner: KubeObject, found: Iterable[KubeObject], selector: LabelSelector) -> Claim:
    """Sort objects of the owner's namespace. An owner that is being deleted takes and gives up
    nothing: the garbage collector decides about what it has."""
    kept: list[KubeObject] = []
    adopted: list[KubeObject] = []
    released: list[KubeObject] = []
    for obj in found:
        controller = obj.controller_uid
        if controller not in ("", owner.uid):
            continue
        matches = selector.matches(obj.labels)
        if controller:
            if matches or is_deleting(owner):
                kept.append(obj)
            else:
                released.append(obj)
        elif matches and not is_deleting(owner) and not is_deleting(obj):
            adopted.append(obj)
    return Claim(tuple(kept), tuple(adopted), tuple(released))


@dataclass(frozen=True, slots=True)
class ClaimWriter:
    """Writes claims; what is adopted gets ``finalizers``."""

    owner_api: ResourceClient
    owned_api: ResourceClient
    finalizers: tuple[str, ...] = ()

    async def apply(self, owner: KubeObject, claimed: Claim) -> list[KubeObject]:
        """Adopt and release; the objects that are the owner's afterwards."""
        mine = list(claimed.kept)
        if claimed.adopted:
            await self._check_alive(owner)
        for obj in claimed.adopted:
            metadata = {"uid": obj.uid, "ownerReferences": [controller_reference(owner)]}
            if self.finalizers:
                metadata["finalizers"] = list(self.finalizers)
            adopted = await self._patch(obj, {"metadata": metadata})
            mine += [adopted] if adopted is not None else []
        for obj in claimed.released:
            dropped = {"$patch": "delete", "uid": owner.uid}
            await self._patch(
                obj, {"metadata": {"uid": obj.uid, "ownerReferences": [dropped]}}, may_be_gone=True
            )
        return mine

    async def _check_alive(self, owner: KubeObject) -> None:
        try:
            live = await self.owner_api(owner.namespace).get(owner.name)
        except NotFound:
            raise OwnerGone(f"{owner!r} is gone") from None
        if live.uid != owner.uid or is_deleting(live):
            raise OwnerGone(f"{owner!r} was replaced or is being deleted")

    async def _patch(
        self, obj: KubeObject, patch: JsonObject, *, may_be_gone: bool = False
    ) -> KubeObject | None:
        try:
            return await self.owned_api(obj.namespace).patch(obj.name, patch, type="strategic")
        except NotFound:
            return None
        except Invalid:
            # The uid that guards the patch belongs to an object that is gone.
            if may_be_gone:
                return None
            raise


def is_namespace_terminating(error: ApiError) -> bool:
    """A create was refused because the namespace is being deleted: there is nothing left to do."""
    return any(cause.get("reason") == "NamespaceTerminating" for cause in error.causes)
