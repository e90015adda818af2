"""Quotas: what is created or grows is charged to them by compare-and-swap, and refused beyond them.

A quota is enforced once its status says how much is used; filling that in is a controller's work.
An object that fails to be written after it was charged stays charged until that controller counts
again, as in Kubernetes: refusing too early is safe, granting too much is not.
"""

from __future__ import annotations

from collections.abc import Awaitable

from proreus.api.quota_usage import CLAIMS, PODS, SERVICES, Usage, applies_to, usage_of
from proreus.api.wire import json
from proreus.server.admission.plugins import lookup
from proreus.server.admission.plugins.refusal import told_as_forbidden
from proreus.server.registry.collection import Collection
from proreus.server.registry.write import CREATE, UPDATE, Attributes
from proreus.server.schema.policies import quotas
from proreus.server.storage.interface import KeyNotFound, StoredValue
from proreus.server.storage.resource_store import Update

_GROWING = (SERVICES, CLAIMS)  # what may use more after an update than before


class ResourceQuota:
    def __init__(self, quotas: Collection) -> None:
        self._quotas = quotas

    def admit(self, attributes: Attributes) -> Awaitable[None] | None:
        resource = attributes.resource
        if attributes.subresource or attributes.obj is None or not resource.namespaced:
            return None
        if attributes.operation != CREATE and (
            attributes.operation != UPDATE or resource.group_resource not in _GROWING
        ):
            return None
        found = lookup.at_hand(self._quotas, attributes.namespace)
        return None if found == [] else self._charge_all(attributes, found)

    async def _charge_all(self, attributes: Attributes, found: lookup.Objects | None) -> None:
        assert attributes.obj is not None
        resource = attributes.resource.group_resource
        if found is None:
            found = await lookup.each(self._quotas, attributes.namespace)
        concerned = [quota for quota in found if applies_to(quota, resource, attributes.obj)]
        wanted = _wanted(attributes) if concerned else {}
        if not wanted:
            return
        with told_as_forbidden(attributes):
            for quota in concerned:
                if resource == PODS:
                    quotas.missing_resources(quota, attributes.obj)
                if len(concerned) > 1:
                    # All must agree before one is charged for what another refuses.
                    quotas.charge(quota, wanted)
            for quota in concerned:
                await self._charge(attributes, quota["metadata"]["name"], wanted)

    async def _charge(self, attributes: Attributes, name: str, wanted: Usage) -> None:
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


def _wanted(attributes: Attributes) -> Usage:
    """What an object uses, or how much more than before. What it gives back counts only once it is
    written: that is the controller's to see."""
    assert attributes.obj is not None
    resource = attributes.resource.group_resource
    found = usage_of(resource, attributes.obj)
    before = {} if attributes.old is None else usage_of(resource, attributes.old)
    more = {name: amount - before.get(name, 0) for name, amount in found.items()}
    return {name: amount for name, amount in more.items() if amount > 0}
