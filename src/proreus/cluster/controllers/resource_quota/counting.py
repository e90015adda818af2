"""How much of a quota is used, and what may be written about it. Pure.

Admission charges a quota before it lets an object be stored. A count made in between would not see
the object and give its share to another. So numbers may rise at once, but fall only when the quota
has not been charged for a while.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction

from proreus.api.group_version import GroupResource
from proreus.api.json_types import JsonObject
from proreus.api.object import KubeObject
from proreus.api.quota_usage import Usage, applies_to, counted_by, usage_of
from proreus.api.values import quantity
from proreus.client.informer import Notification
from proreus.cluster.pod_status import is_finished

Objects = Mapping[GroupResource, Iterable[KubeObject]]
_ZERO = Fraction(0)


def counted_resources(quota: KubeObject) -> set[GroupResource]:
    return {resource for name in (quota.spec.hard or {}) for resource in counted_by(name)}


def count(quota: KubeObject, objects: Objects) -> Usage:
    """The usage of every name that the quota limits."""
    content = quota.to_dict()
    total: Usage = dict.fromkeys(content["spec"].get("hard") or {}, _ZERO)
    for resource, found in objects.items():
        for obj in found:
            as_json = obj.to_dict()
            if applies_to(content, resource, as_json):
                for name, amount in usage_of(resource, as_json).items():
                    if name in total:
                        total[name] += amount
    return total


def is_above_count(quota: KubeObject, counted: Usage) -> bool:
    """Whether the status says that more is used than was counted."""
    known = (quota.status or {}).get("used") or {}
    return any(quantity.amount(known.get(name)) > amount for name, amount in counted.items())


def is_first_count(quota: KubeObject) -> bool:
    """Whether the quota limits something that nobody has counted, and so nobody was charged for."""
    status = quota.status or {}
    hard, used = status.get("hard") or {}, status.get("used") or {}
    return any(name not in hard or name not in used for name in quota.spec.hard or {})


def status_of(quota: KubeObject, counted: Usage, *, may_fall: bool) -> JsonObject:
    hard: dict[str, str] = dict(quota.spec.hard or {})
    known = (quota.status or {}).get("used") or {}
    used: dict[str, str] = {}
    for name, limit in hard.items():
        amount, before = counted[name], quantity.amount(known.get(name))
        if name in known and (amount == before or (amount < before and not may_fall)):
            used[name] = known[name]
        else:
            used[name] = quantity.from_amount(amount, quantity.parse(str(limit)).format).text
    return {"hard": hard, "used": used}


def may_change_usage(notification: Notification) -> bool:
    """Whether a change may have freed or taken anything; what is created was charged already."""
    old, new = notification.old, notification.new
    if old is None or new is None:
        return new is None
    if old.uid != new.uid or is_finished(old) != is_finished(new):
        return True
    return old.kind != "Pod" and old.get("spec") != new.get("spec")
