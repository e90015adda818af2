"""Finalizers: an object that bears one is not removed before its owner has taken it off."""

from __future__ import annotations

from proreus.api.json_types import JsonObject
from proreus.api.object import KubeObject
from proreus.api.status import NotFound
from proreus.client.resources.resource_client import ResourceClient
from proreus.client.retry_on_conflict import retry_on_conflict


def has_finalizer(obj: KubeObject, finalizer: str) -> bool:
    return finalizer in (obj.metadata.finalizers or ())


async def add_finalizer(resource: ResourceClient, obj: KubeObject, finalizer: str) -> KubeObject:
    """The object with the finalizer. One that is being deleted takes no new finalizer: it is
    returned as it is. Raises ``NotFound``, also if another object has its name by now."""
    return await _change(resource, obj, finalizer, is_wanted=True)


async def remove_finalizer(
    resource: ResourceClient, obj: KubeObject, finalizer: str
) -> KubeObject | None:
    """The object without the finalizer; None if it is gone, as it is if this was the last one."""
    try:
        return await _change(resource, obj, finalizer, is_wanted=False)
    except NotFound:
        return None


async def _change(
    resource: ResourceClient, obj: KubeObject, finalizer: str, *, is_wanted: bool
) -> KubeObject:
    api, known = resource.in_namespace_of(obj), obj

    async def attempt() -> KubeObject:
        nonlocal known
        if has_finalizer(known, finalizer) == is_wanted:
            return known
        if is_wanted and known.metadata.deletionTimestamp:
            return known
        kept = [one for one in known.metadata.finalizers or () if one != finalizer]
        metadata: JsonObject = {
            "uid": known.uid,
            "resourceVersion": known.resource_version,
            "finalizers": [*kept, finalizer] if is_wanted else kept,
        }
        return await api.patch(known.name, {"metadata": metadata})

    async def look_again() -> None:
        nonlocal known
        known = await api.get(obj.name)
        if known.uid != obj.uid:
            raise NotFound(f"{obj!r} is gone, another object has its name")

    return await retry_on_conflict(attempt, before_retry=look_again)
