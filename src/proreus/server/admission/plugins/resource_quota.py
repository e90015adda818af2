"""ResourceQuota objects: how much a namespace may hold. Counts when it lets something in.

Two servers may admit at once, so a quota is charged by compare-and-swap on the quota itself.
"""

from __future__ import annotations

from proreus.api.wire import splice
from proreus.server.admission.plugins import lookup
from proreus.server.admission.plugins.pod_classes import PODS
from proreus.server.admission.plugins.refusal import told_as_forbidden
from proreus.server.registry.collection import Collection
from proreus.server.registry.write import CREATE, Attributes
from proreus.server.schema.policies import quotas
from proreus.server.storage.interface import KeyNotFound, StoredValue
from proreus.server.storage.resource_store import Update

_NOT_COUNTED = frozenset({"events", "bindings"})


class ResourceQuota:
    def __init__(self, found: Collection) -> None:
        self._quotas = found

    async def admit(self, attributes: Attributes) -> None:
        resource = attributes.resource
        if attributes.operation != CREATE or attributes.subresource or not resource.namespaced:
            return
        if resource.plural in _NOT_COUNTED:
            return
        present = list(await lookup.each(self._quotas, attributes.namespace))
        if not present:
            return
        obj = attributes.obj
        assert obj is not None, "a create has an object"
        wanted = quotas.usage_of(resource.group_resource, obj)
        with told_as_forbidden(attributes):
            for quota in present:
                if not quotas.applies_to(quota, resource.group_resource, obj):
                    continue
                if resource.group_resource == PODS:
                    quotas.missing_resources(quota, obj)
                await self._charge(attributes, quota["metadata"]["name"], wanted)

    async def _charge(self, attributes: Attributes, name: str, wanted: quotas.Usage) -> None:
        """Raises Refused; tries again on the newest quota if another server charged it first."""

        def charge(current: StoredValue | None) -> Update:
            assert current is not None, "a missing key is an error before"
            quota = self._quotas.decode(current)
            used = quotas.charge(quota, wanted)
            if used is None or attributes.dry_run:
                return Update(current.value)
            quota["status"]["used"] = used
            return Update(splice.stored_from_object(quota))

        key = self._quotas.key(attributes.namespace, name)
        try:
            await self._quotas.store.guaranteed_update(key, charge)
        except KeyNotFound:
            return  # a quota that is gone limits nothing
