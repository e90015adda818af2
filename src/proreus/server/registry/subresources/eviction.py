"""``/eviction``: a delete that asks the disruption budgets first."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import msgspec

from proreus.api.group_version import GroupKind, GroupResource, GroupVersionKind
from proreus.api.json_types import JsonObject
from proreus.api.selectors.errors import SelectorError
from proreus.api.selectors.labels import LabelSelector
from proreus.api.status import Conflict, Forbidden, Invalid, NotFound, PlainError, TooManyRequests
from proreus.api.values.timestamp import format_time
from proreus.api.wire import splice
from proreus.api.wire.options import DeleteOptions
from proreus.server.registry.admission import CREATE, Admission
from proreus.server.registry.collection import Collection
from proreus.server.registry.failures import translate_errors
from proreus.server.registry.verbs.delete import Delete, check_preconditions
from proreus.server.registry.write import Write
from proreus.server.storage.interface import StoredValue
from proreus.server.watch_cache.query import ListQuery, Selection

EVICTION = GroupVersionKind("policy", "v1", "Eviction")
_REFUSED = "Cannot evict pod as it would violate the pod's disruption budget."
_RETRY_S = 10
_BUDGET = GroupResource("policy", "poddisruptionbudget")  # in the singular, as Kubernetes has it
_DELETE_OPTIONS = GroupKind("meta.k8s.io", "DeleteOptions")
_ALLOWED = "DisruptionAllowed"
_AMBIGUOUS = (
    "This pod has more than one PodDisruptionBudget, which the eviction subresource "
    "does not support."
)
_DISRUPTED_MAX = 2000
_ATTEMPTS = 20  # as Kubernetes: a pod that starts is written several times in a row
_EVICTED = {
    "type": "DisruptionTarget",
    "status": "True",
    "reason": "EvictionByEvictionAPI",
    "message": "Eviction API: evicting",
}


async def evict(
    write: Write, eviction: JsonObject, budgets: Collection, options: DeleteOptions
) -> None:
    """Raises TooManyRequests while a budget forbids it, PlainError, NotFound, Conflict, Forbidden.

    A pod that is let go because it is not healthy must not have changed when it goes: it is pinned
    by its version. A version that the caller named is kept, and never tried again. Admission is
    asked about the eviction, not about the delete that follows.
    """
    await write.admission.admit(write.attributes(CREATE, eviction, None, kind=EVICTION))
    for attempt in range(_ATTEMPTS):
        pod = await _current(write)
        is_free, unhealthy_of = _ignores_budgets(pod), ""
        if not is_free:
            unhealthy_of = await _ask_budgets(write, budgets, pod)
        is_unpinned = options.resource_version is None
        try:
            with_version = _may_recover(pod, unhealthy_of)
            await _delete(write, _pinned(options, pod, with_version=with_version))
        except Conflict:
            if unhealthy_of and is_unpinned:
                raise _still_processed(unhealthy_of) from None
            # Asking the budgets again would count a second disruption.
            if not (is_free and is_unpinned) or attempt == _ATTEMPTS - 1:
                raise
        else:
            return


async def _current(write: Write) -> JsonObject:
    collection = write.collection
    stored = await collection.store.get(collection.key(write.namespace, write.name))
    if stored is None:
        raise NotFound.of(collection.resource.group_resource, write.name)
    return collection.decode(stored)


async def _delete(write: Write, pinned: DeleteOptions) -> None:
    if violations := pinned.violations():
        raise Invalid.of(_DELETE_OPTIONS, "", violations)
    if not write.dry_run:
        pinned = await _mark_evicted(write, pinned)
    await Delete(
        msgspec.structs.replace(write, subresource="", admission=Admission()), pinned
    ).commit()


def _pinned(options: DeleteOptions, pod: JsonObject, *, with_version: bool) -> DeleteOptions:
    """Preconditions that the deleted pod is the one the budgets were checked for."""
    meta = pod["metadata"]
    version = options.resource_version
    if version is None and with_version:
        version = meta["resourceVersion"]
    uid = meta.get("uid") if options.uid is None else options.uid
    return replace(options, uid=uid, resource_version=version)


def _may_recover(pod: Mapping[str, Any], unhealthy_of: str) -> bool:
    """Whether it is let go for a state that may be over by the time it goes."""
    if unhealthy_of:
        return True
    is_deleted = bool(pod["metadata"].get("deletionTimestamp"))
    return (pod.get("status") or {}).get("phase") == "Pending" and not is_deleted


def _ignores_budgets(pod: Mapping[str, Any]) -> bool:
    """Nothing is disrupted by taking away what does not run."""
    phase = (pod.get("status") or {}).get("phase")
    return phase in ("Pending", "Succeeded", "Failed") or bool(
        pod["metadata"].get("deletionTimestamp")
    )


async def _mark_evicted(write: Write, options: DeleteOptions) -> DeleteOptions:
    """Mark the pod as evicted while it ends; returns the options for the marked pod."""
    collection = write.collection
    resource = collection.resource.group_resource

    async def mark(current: StoredValue | None) -> bytes:
        assert current is not None, "a missing key is an error before"
        pod = collection.decode(current)
        # Kubernetes names the kind here where it names the resource everywhere else.
        check_preconditions(options, pod["metadata"], GroupResource("", "Pod"), write.name)
        _set_condition(pod.setdefault("status", {}), format_time(write.now))
        return splice.stored_from_object(pod)

    key = collection.key(write.namespace, write.name)
    with translate_errors(resource, write.name, "update"):
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


async def _ask_budgets(write: Write, budgets: Collection, pod: JsonObject) -> str:
    """Returns the name of the budget that does not count the pod, since it is not healthy; "" if
    one counted it or there is none."""
    query = ListQuery(Selection(namespace=write.namespace))
    listing = await budgets.cache.list(query)
    found = [splice.decode_item(obj.item) for obj in listing.objects]
    matching = list(_matching(found, pod))
    if len(matching) > 1:
        raise PlainError(_AMBIGUOUS)
    if not matching:
        return ""
    budget = matching[0]
    name: str = budget["metadata"]["name"]
    if _is_unhealthy_and_free(budget, pod):
        return name

    async def take(current: StoredValue | None) -> bytes:
        assert current is not None, "a missing key is an error before"
        fresh = budgets.decode(current)
        _disrupt(fresh, pod["metadata"]["name"], write.now)
        return splice.stored_from_object(fresh)

    key = budgets.key(write.namespace, name)
    await budgets.store.guaranteed_update(key, take, dry_run=write.dry_run)
    return ""


def _disrupt(budget: JsonObject, pod: str, now: float) -> None:
    """Count one disruption, or refuse it."""
    name, status = budget["metadata"]["name"], budget.setdefault("status", {})
    generation = budget["metadata"].get("generation") or 0
    allowed = status.get("disruptionsAllowed") or 0
    disrupted = dict(status.get("disruptedPods") or {})
    if (status.get("observedGeneration") or 0) < generation:
        raise _still_processed(name)
    if allowed < 0:
        raise Forbidden.of(_BUDGET, name, "pdb disruptions allowed is negative")
    if len(disrupted) > _DISRUPTED_MAX:
        why = "DisruptedPods map too big - too many evictions not confirmed by PDB controller"
        raise Forbidden.of(_BUDGET, name, why)
    if allowed == 0:
        raise _refused(_denial(name, status), retry_s=0)
    disrupted[pod] = format_time(now)
    status["disruptionsAllowed"] = allowed - 1
    status["disruptedPods"] = disrupted
    if allowed == 1:
        _set_exhausted(status, generation, format_time(now))


def _denial(name: str, status: Mapping[str, Any]) -> str:
    """Why a budget allows nothing: its numbers, unless they failed to be counted."""
    conditions = status.get("conditions") or ()
    found: JsonObject = next((c for c in conditions if c.get("type") == _ALLOWED), {})
    message = found.get("message") if found.get("status") == "False" else ""
    budget = f"The disruption budget {name}"
    if message and found.get("reason") == "SyncFailed":
        return f"{budget} does not allow evicting pods currently because it failed sync: {message}"
    desired, healthy = (status.get(key) or 0 for key in ("desiredHealthy", "currentHealthy"))
    if healthy <= desired:
        return f"{budget} needs {desired} healthy pods and has {healthy} currently"
    end = f" ({found.get('reason')}): {message}" if message else ""
    return f"{budget} does not allow evicting pods currently{end}"


def _set_exhausted(status: JsonObject, generation: int, now: str) -> None:
    conditions = status.setdefault("conditions", [])
    kept = next((c for c in conditions if c.get("type") == _ALLOWED), None)
    if kept is None:
        kept = {"type": _ALLOWED}
        conditions.append(kept)
    if kept.get("status") != "False":
        kept["lastTransitionTime"] = now
    kept.update(
        status="False", reason="InsufficientPods", message="", observedGeneration=generation
    )


def _still_processed(name: str) -> TooManyRequests:
    return _refused(f"The disruption budget {name} is still being processed by the server.")


def _refused(why: str, *, retry_s: int = _RETRY_S) -> TooManyRequests:
    details: JsonObject = {"causes": [{"reason": "DisruptionBudget", "message": why}]}
    if retry_s:
        details["retryAfterSeconds"] = retry_s
    return TooManyRequests(_REFUSED, details=details)


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
