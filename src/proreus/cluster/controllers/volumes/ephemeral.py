"""Generic ephemeral volumes: a pod's claim is made from the template in the pod, and goes with it.

Receives: keys of pods that have such volumes.  Hands on: claims that the pods control.
"""

from __future__ import annotations

from proreus.api.json_types import JsonObject
from proreus.api.object import KubeObject
from proreus.api.status import AlreadyExists, ApiError
from proreus.client.controller import Controller, Result
from proreus.client.informer import Notification
from proreus.client.ownership import controlled_by
from proreus.cluster.controllers.context import ControllerContext
from proreus.cluster.controllers.reconciler import ObjectReconciler
from proreus.cluster.pod_status import is_deleting
from proreus.cluster.volumes.pod_claims import EPHEMERAL_MARK, is_made_for


def ephemeral_volume_controller(context: ControllerContext) -> Controller:
    pods = EphemeralVolumes(context)
    return pods.controller("ephemeral-volume", when=_may_have_volumes, concurrency=1)


def _may_have_volumes(notification: Notification) -> bool:
    """Most pods have none, which their bytes tell. A pod's volumes never change."""
    new = notification.new
    return new is not None and EPHEMERAL_MARK in new.raw


def claims_for(pod: KubeObject) -> list[JsonObject]:
    """Pure."""
    made: list[JsonObject] = []
    for volume in pod.to_dict()["spec"].get("volumes") or ():
        template = (volume.get("ephemeral") or {}).get("volumeClaimTemplate")
        if template is None:
            continue
        metadata = template.get("metadata") or {}
        kept = {name: metadata[name] for name in ("labels", "annotations") if name in metadata}
        content = {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": {**kept, "name": f"{pod.name}-{volume['name']}"},
            "spec": template["spec"],
        }
        made.append(controlled_by(pod, content))
    return made


class EphemeralVolumes(ObjectReconciler):
    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context, "pods", "ephemeral_volume")
        self.claims = context.informers.informer("persistentvolumeclaims")

    async def sync(self, pod: KubeObject) -> Result | None:
        if is_deleting(pod):
            return None
        for content in claims_for(pod):
            await self._make(pod, content)
        return None

    async def _make(self, pod: KubeObject, content: JsonObject) -> None:
        name = content["metadata"]["name"]
        known = self.claims.indexer.get(f"{pod.namespace}/{name}")
        claims = self.client.core_v1.persistentvolumeclaims(pod.namespace)
        if known is None:
            try:
                await claims.create(content)
            except AlreadyExists:
                known = await claims.get(name)
            except ApiError as refused:
                text = f"ephemeral volume controller: create PVC {name}: {refused.message}"
                self.warn(pod, "ClaimCreationFailed", text)
                raise
        if known is not None and not is_made_for(known, pod.uid):
            text = f'PVC "{pod.namespace}/{name}" was not created for pod'
            self.warn(pod, "ClaimCreationFailed", f'{text} "{pod.key}" (pod is not owner)')
            raise NotOurs(text)


class NotOurs(Exception):
    """A claim of the name that the pod's own would have; it may go, so that this is tried again."""
