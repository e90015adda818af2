"""``/eviction``: a delete that asks the disruption budgets first."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import msgspec

from proreus.api.selectors.errors import SelectorError
from proreus.api.selectors.labels import LabelSelector
from proreus.api.status import Conflict, InternalError, NotFound, TooManyRequests
from proreus.api.values.timestamp import format_time
from proreus.api.wire import splice
from proreus.api.wire.options import DeleteOptions
from proreus.server.registry.collection import Collection
from proreus.server.registry.failures import told_as
from proreus.server.registry.verbs.delete import check_preconditions, delete_object
from proreus.server.registry.write import Write
from proreus.server.schema.rules import JsonObject
from proreus.server.storage.interface import StoredValue
from proreus.server.storage.resource_store import Update
from proreus.server.watch_cache.query import ListQuery, Selection

_REFUSED = "Cannot evict pod as it would violate the pod's disruption budget."
_RETRY_S = 10
_DISRUPTED_MAX = 2000
_ATTEMPTS = 3
_EVICTED = {
    "type": "DisruptionTarget",
    "status": "True",
    "reason": "EvictionByEvictionAPI",
    "message": "Eviction API: evicting",
}


class Ambiguous(Exception):
    """More than one budget counts the pod; answered as the result of a request that succeeded."""

    def __init__(self) -> None:
        super().__init__(
            "This pod has more than one PodDisruptionBudget, which the eviction subresource "
            "does not support."
        )


async def evict(write: Write, budgets: Collection, options: DeleteOptions) -> None:
    """Raises TooManyRequests while a budget forbids it, Ambiguous, NotFound, InternalError."""
    collection = write.collection
    for attempt in range(_ATTEMPTS):
        stored = await collection.store.get(collection.key(write.namespace, write.name))
        if stored is None:
            raise NotFound.of(collection.resource.group_resource, write.name)
        pod = collection.decode(stored)
        if not _ignores_budgets(pod):
            await _ask_budgets(write, budgets, pod)
        # The pod that was asked about must be the one that goes.
        pinned = options if write.dry_run else await _say_why(write, options)
        pinned = replace(pinned, uid=pinned.uid or pod["metadata"].get("uid"))
        try:
            await delete_object(msgspec.structs.replace(write, subresource=""), pinned)
        except Conflict:
            if attempt == _ATTEMPTS - 1:
                raise
        else:
            return


def _ignores_budgets(pod: Mapping[str, Any]) -> bool:
    """Nothing is disrupted by taking away what does not run."""
    phase = (pod.get("status") or {}).get("phase")
    return phase in ("Pending", "Succeeded", "Failed") or bool(
        pod["metadata"].get("deletionTimestamp")
    )


async def _say_why(write: Write, options: DeleteOptions) -> DeleteOptions:
    """Whoever looks at the pod while it ends sees that it was evicted. What then is to be met."""
    collection = write.collection
    resource = collection.resource.group_resource

    def mark(current: StoredValue | None) -> Update:
        assert current is not None, "a missing key is an error before"
        pod = collection.decode(current)
        check_preconditions(options, pod["metadata"], resource, write.name)
        _set_condition(pod.setdefault("status", {}), format_time(write.now))
        return Update(splice.stored_from_object(pod))

    key = collection.key(write.namespace, write.name)
    with told_as(resource, write.name, "update"):
        marked = await collection.store.guaranteed_update(key, mark)
    if options.resource_version is None:
        return options
    return replace(options, resource_version=str(marked.new.revision))


def _set_condition(status: JsonObject, now: str) -> None:
    conditions = status.setdefault("conditions", [])
    kept = next((c for c in conditions if c.get("type") == _EVICTED["type"]), None)
    if kept is None:
        conditions.append({**_EVICTED, "lastProbeTime": None, "lastTransitionTime": now})
    else:
        turned = kept.get("status") != _EVICTED["status"]
        kept.update(_EVICTED, **({"lastTransitionTime": now} if turned else {}))


async def _ask_budgets(write: Write, budgets: Collection, pod: JsonObject) -> None:
    query = ListQuery(Selection(namespace=write.namespace))
    listing = await budgets.cache.list(query)
    found = [splice.decode_item(obj.item) for obj in listing.objects]
    matching = list(_matching(found, pod))
    if len(matching) > 1:
        raise Ambiguous
    if not matching:
        return
    budget = matching[0]
    if _is_unhealthy_and_free(budget, pod):
        return

    def take(current: StoredValue | None) -> Update:
        assert current is not None, "a missing key is an error before"
        fresh = budgets.decode(current)
        _disrupt(fresh, pod["metadata"]["name"], write.now)
        value = splice.stored_from_object(fresh)
        return Update(current.value if write.dry_run else value)

    key = budgets.key(write.namespace, budget["metadata"]["name"])
    await budgets.store.guaranteed_update(key, take)


def _disrupt(budget: JsonObject, pod: str, now: float) -> None:
    """Count one disruption, or refuse it."""
    name, status = budget["metadata"]["name"], budget.setdefault("status", {})
    generation = budget["metadata"].get("generation") or 0
    allowed = status.get("disruptionsAllowed") or 0
    if (status.get("observedGeneration") or 0) < generation:
        raise _refused(f"The disruption budget {name} is still being processed by the server.")
    if allowed <= 0:
        raise _refused(
            f"The disruption budget {name} needs {status.get('desiredHealthy') or 0} healthy pods "
            f"and has {status.get('currentHealthy') or 0} currently"
        )
    disrupted = dict(status.get("disruptedPods") or {})
    if len(disrupted) > _DISRUPTED_MAX:
        raise InternalError.of(
            "DisruptedPods map too big - too many evictions not confirmed by PDB"
        )
    disrupted[pod] = format_time(now)
    status["disruptionsAllowed"] = allowed - 1
    status["disruptedPods"] = disrupted


def _refused(why: str) -> TooManyRequests:
    cause = {"reason": "DisruptionBudget", "message": why}
    return TooManyRequests(_REFUSED, details={"causes": [cause], "retryAfterSeconds": _RETRY_S})


def _matching(budgets: Iterable[JsonObject], pod: JsonObject) -> Iterable[JsonObject]:
    labels = pod["metadata"].get("labels") or {}
    for budget in budgets:
        selector = (budget.get("spec") or {}).get("selector")
        if selector is None:
            continue
        try:
            if LabelSelector.from_object(selector).matches(labels):
                yield budget
        except SelectorError:
            continue


def _is_unhealthy_and_free(budget: JsonObject, pod: JsonObject) -> bool:
    conditions = (pod.get("status") or {}).get("conditions") or ()
    is_ready = any(c.get("type") == "Ready" and c.get("status") == "True" for c in conditions)
    if is_ready:
        return False
    if (budget.get("spec") or {}).get("unhealthyPodEvictionPolicy") == "AlwaysAllow":
        return True
    status = budget.get("status") or {}
    desired = status.get("desiredHealthy") or 0
    return desired > 0 and (status.get("currentHealthy") or 0) >= desired
