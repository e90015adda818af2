"""Writing the EndpointSlices of one owner: some are kept or changed, others created or deleted.

The owner passes the desired content, and its OwnWrites.
"""

from __future__ import annotations

import contextlib

from proreus.api.json_types import JsonObject
from proreus.api.object import KubeObject
from proreus.api.status import NotFound
from proreus.client.controller.own_writes import OwnWrites
from proreus.cluster.controllers.context import ControllerContext
from proreus.cluster.controllers.ownership import CONTROLLER_INDEX

SERVICE_LABEL = "kubernetes.io/service-name"
MANAGED_LABEL = "endpointslice.kubernetes.io/managed-by"


def same(present: KubeObject, wanted: JsonObject, *fields: str) -> bool:
    """Annotations count if they are among what is wanted."""
    labels = wanted["metadata"].get("labels") or {}
    annotations = wanted["metadata"].get("annotations")
    return (
        dict(present.labels) == labels
        and (annotations is None or dict(present.annotations) == annotations)
        and all((present.get(field) or []) == (wanted.get(field) or []) for field in fields)
    )


def _own_metadata(wanted: JsonObject) -> JsonObject:
    kept = ("labels", "annotations")
    return {field: wanted["metadata"][field] for field in kept if field in wanted["metadata"]}


class Slices:
    """The slices that owners of one resource control."""

    def __init__(self, context: ControllerContext, writes: OwnWrites) -> None:
        self.informer = context.owned_informer("endpointslices.discovery.k8s.io")
        self._api = context.client.discovery_v1.endpointslices
        self._writes = writes

    async def write(self, owner: KubeObject, wanted: list[JsonObject]) -> None:
        key, api = owner.key, self._api(owner.namespace)
        owned = self.informer.indexer.by_index(CONTROLLER_INDEX, owner.uid)
        free = sorted(self._writes.without_deleted(key, owned), key=lambda one: one.name)
        for content in wanted:
            present = _taken(free, content)
            if present is None:
                await api.create(content)
            elif not same(present, content, "endpoints", "ports"):
                metadata = {**present.to_dict()["metadata"], **_own_metadata(content)}
                await api.replace({**content, "metadata": metadata})
        for one in free:
            with contextlib.suppress(NotFound):
                await api.delete(one.name, uid=one.uid)


def _taken(free: list[KubeObject], wanted: JsonObject) -> KubeObject | None:
    """A slice that can hold what is wanted, no longer free. Its address type cannot change."""
    for number, one in enumerate(free):
        if one.get("addressType") == wanted["addressType"]:
            return free.pop(number)
    return None
