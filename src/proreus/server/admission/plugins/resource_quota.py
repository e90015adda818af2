"""Quotas: what is created is charged to them by compare-and-swap, and refused beyond them.

A quota is enforced once its status says how much is used; filling that in is a controller's work.
An object that fails to be written after it was charged stays charged until that controller counts
again, as in Kubernetes: refusing too early is safe, granting too much is not.
"""

from __future__ import annotations

from proreus.api.wire import json
from proreus.server.admission.plugins import lookup
from proreus.server.admission.plugins.pod_classes import PODS
from proreus.server.admission.plugins.refusal import told_as_forbidden
from proreus.server.registry.collection import Collection
from proreus.server.registry.write import CREATE, Attributes
from proreus.server.schema.policies import quotas
from proreus.server.storage.interface import KeyNotFound, StoredValue
from proreus.server.storage.resource_store import Update


class ResourceQuota:
    def __init__(self, quotas: Collection) -> None:
        self._quotas = quotas

    async def admit(self, attributes: Attributes) -> None:
        if attributes.operation != CREATE or attributes.subresource or attributes.obj is None:
            return
        if not attributes.resource.namespaced:
            return
        resource = attributes.resource.group_resource
        for quota in await lookup.each(self._quotas, attributes.namespace):
            if not quotas.applies_to(quota, resource, attributes.obj):
                continue
            with told_as_forbidden(attributes):
                if resource == PODS:
                    quotas.missing_resources(quota, attributes.obj)
                await self._charge(attributes, quota["metadata"]["name"])

    async def _charge(self, attributes: Attributes, name: str) -> None:
        assert attributes.obj is not None
        wanted = quotas.usage_of(attributes.resource.group_resource, attributes.obj)

        def charged(current: StoredValue | None) -> Update:
            assert current is not None, "a missing quota is an error before"
            quota = json.decode(current.value)
            used = quotas.charge(quota, wanted)
            if used is None or attributes.dry_run:
                return Update(current.value)
            quota["status"]["used"] = used
            return Update(json.encode(quota))

        try:
            await self._quotas.store.guaranteed_update(f"{attributes.namespace}/{name}", charged)
        except KeyNotFound:
            return  # deleted meanwhile: it limits nothing any more
