"""Quotas: creates and growth are charged by compare-and-swap, and refused beyond the limit.

A quota is enforced once its status says how much is used; filling that in is a controller's work.
An object that fails to be written after it was charged stays charged until that controller counts
again, as in Kubernetes: refusing too early is safe, granting too much is not.
"""

from __future__ import annotations

from collections.abc import Awaitable

from proreus.api.group_version import GroupResource
from proreus.api.json_types import Json, JsonObject
from proreus.api.quota_usage import (
    CLAIMS,
    PODS,
    SERVICES,
    Usage,
    applies_to,
    counted_by,
    is_terminating,
    usage_of,
    usage_spelling,
)
from proreus.api.values import quantity
from proreus.api.wire import json
from proreus.server.admission.plugins import lookup
from proreus.server.admission.plugins.refusal import Refused, as_forbidden
from proreus.server.registry.admission import Attributes
from proreus.server.registry.collection import Collection
from proreus.server.storage.interface import KeyNotFound, StoredValue

# What may use more after an update than before, or be in the scope of another quota.
GROWING = frozenset({SERVICES, CLAIMS, PODS})
# What no quota counts.
_IGNORED = frozenset(
    {
        GroupResource("", "bindings"),
        GroupResource("", "events"),
        GroupResource("events.k8s.io", "events"),
    }
)


class ResourceQuota:
    def __init__(self, quotas: Collection) -> None:
        self._quotas = quotas

    def admit(self, attributes: Attributes) -> Awaitable[None] | None:
        """Of writes that may use more than before."""
        resource = attributes.resource
        if attributes.obj is None or not resource.namespaced:
            return None
        if self._quotas.cache.peek_all(attributes.namespace) == []:
            return None  # most namespaces are without quotas
        if resource.group_resource in _IGNORED or _is_same_pod_scope(attributes):
            return None
        return self._charge_all(attributes)

    async def _charge_all(self, attributes: Attributes) -> None:
        assert attributes.obj is not None
        resource = attributes.resource.group_resource
        found = await lookup.each(self._quotas, attributes.namespace)
        found = [await self._newest(quota) if is_new(quota) else quota for quota in found]
        concerned = [
            quota
            for quota in found
            if limited_names(quota, resource) and applies_to(quota, resource, attributes.obj)
        ]
        if not concerned:
            return
        with as_forbidden(attributes):
            # What a quota must know comes before what another one refuses.
            for quota in concerned:
                if resource == PODS:
                    missing_resources(quota, attributes.obj)
                unknown_usage(quota, resource)
            wanted = [(quota, _wanted(attributes, quota)) for quota in concerned]
            if len(wanted) > 1 and not _is_status(attributes):
                # All must agree before one is charged for what another refuses.
                for quota, usage in wanted:
                    charge(quota, usage, attributes.obj)
            for quota, usage in wanted:
                if usage:
                    await self._charge(attributes, quota["metadata"]["name"], usage)

    async def _newest(self, quota: JsonObject) -> JsonObject:
        """A quota that nobody has counted as far as the cache knows: what is stored may be newer,
        and limits from the moment on when its status is written."""
        metadata = quota["metadata"]
        stored = await self._quotas.store.get(f"{metadata['namespace']}/{metadata['name']}")
        if stored is None:
            return quota
        found: JsonObject = json.decode(stored.value)
        return found

    async def _charge(self, attributes: Attributes, name: str, wanted: Usage) -> None:
        async def charged(current: StoredValue | None) -> bytes:
            assert current is not None, "a missing quota is an error before"
            quota = json.decode(current.value)
            may_exceed = _is_status(attributes)
            used = charge(quota, wanted, attributes.obj or {}, may_exceed=may_exceed)
            if used is None or attributes.dry_run:
                return current.value
            quota["status"]["used"] = used
            return json.encode(quota)

        try:
            await self._quotas.store.guaranteed_update(f"{attributes.namespace}/{name}", charged)
        except KeyNotFound:
            return  # deleted meanwhile: it limits nothing any more


def _is_same_pod_scope(attributes: Attributes) -> bool:
    """Of updates of pods, most: they need what they needed before, and only a deadline takes them
    from the scope of one quota into that of another."""
    if attributes.resource.group_resource != PODS or attributes.subresource:
        return False
    new, old = attributes.obj, attributes.old
    if new is None or old is None:
        return False
    return is_terminating(new["spec"]) == is_terminating(old["spec"])


def _is_status(attributes: Attributes) -> bool:
    """What a status reports is so already, and is counted without being refused."""
    return attributes.subresource == "status"


def is_new(quota: Json) -> bool:
    return not (quota.get("status") or {}).get("hard")


def limited_names(quota: Json, resource: GroupResource) -> list[str]:
    """What the quota limits of a resource, by the names that quotas use."""
    hard = (quota.get("status") or {}).get("hard") or {}
    return [name for name in sorted(hard) if resource in counted_by(name)]


def unknown_usage(quota: Json, resource: GroupResource) -> None:
    """Raises Refused if nobody knows yet how much of what concerns the resource is used."""
    names = limited_names(quota, resource)
    used = (quota.get("status") or {}).get("used") or {}
    if any(name not in used for name in names):
        name = quota["metadata"]["name"]
        raise Refused(f"status unknown for quota: {name}, resources: {','.join(names)}")


def _wanted(attributes: Attributes, quota: Json) -> Usage:
    """What an object uses, or how much more than before; all of it if the quota did not apply
    before. What it gives back counts only once it is written: that is the controller's to see."""
    assert attributes.obj is not None
    resource, old = attributes.resource.group_resource, attributes.old
    found = usage_of(resource, attributes.obj)
    was_counted = old is not None and applies_to(quota, resource, old)
    before = usage_of(resource, old) if old is not None and was_counted else {}
    more = {name: amount - before.get(name, 0) for name, amount in found.items()}
    return {name: amount for name, amount in more.items() if amount > 0}


def charge(quota: Json, wanted: Usage, obj: Json, *, may_exceed: bool = False) -> JsonObject | None:
    """The quota's new ``status.used`` if ``wanted`` is granted; None if it does not concern it.

    Amounts are spelled as ``obj`` spells them. Raises Refused if it is too much and may not be.
    """
    status = quota.get("status") or {}
    hard, used = status.get("hard") or {}, status.get("used") or {}
    name = quota["metadata"]["name"]
    concerned = {key: amount for key, amount in sorted(wanted.items()) if key in hard}
    if not any(concerned.values()):
        return None
    used = {**dict.fromkeys(concerned, "0"), **used}
    totals = {key: quantity.amount(used[key]) + amount for key, amount in concerned.items()}
    over = [key for key, total in totals.items() if total > quantity.amount(hard[key])]
    over = [key for key in over if concerned[key] > 0]
    if over and not may_exceed:
        raise Refused(
            f"exceeded quota: {name}, requested: {_listed(over, concerned, obj)}, "
            f"used: {','.join(f'{key}={used[key]}' for key in over)}, "
            f"limited: {','.join(f'{key}={hard[key]}' for key in over)}"
        )
    made = dict(used)
    for key, total in totals.items():
        was = quantity.parse(used[key])
        like = was.format if quantity.amount(used[key]) else usage_spelling(obj, key)
        made[key] = quantity.from_amount(total, like).text
    return made


def missing_resources(quota: Json, pod: Json) -> None:
    """A quota on cpu or memory wants every container to say what it needs, unless the pod says
    anything for all of them."""
    if _has_pod_level_resources(pod["spec"]):
        return
    hard = (quota.get("status") or {}).get("hard") or {}
    problems = []
    for key in sorted(hard):
        part, _, name = key.rpartition(".")
        part = part or "requests"
        if name not in ("cpu", "memory") or part not in ("requests", "limits"):
            continue
        silent = {
            container.get("name") or ""
            for kind in ("containers", "initContainers")
            for container in pod["spec"].get(kind) or ()
            if name not in ((container.get("resources") or {}).get(part) or {})
        }
        if silent:
            problems.append(f"{key} for: {','.join(sorted(silent))}")
    if problems:
        raise Refused(
            f"failed quota: {quota['metadata']['name']}: must specify {'; '.join(problems)}"
        )


def _has_pod_level_resources(spec: Json) -> bool:
    resources = spec.get("resources") or {}
    named = [*(resources.get("requests") or ()), *(resources.get("limits") or ())]
    return any(name in ("cpu", "memory") or name.startswith("hugepages-") for name in named)


def _listed(keys: list[str], amounts: Usage, obj: Json) -> str:
    return ",".join(
        f"{key}={quantity.from_amount(amounts[key], usage_spelling(obj, key)).text}" for key in keys
    )
