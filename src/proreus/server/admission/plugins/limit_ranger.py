"""Limit ranges of a namespace: defaults for its containers, bounds for its pods and claims."""

from __future__ import annotations

from collections.abc import Awaitable, Iterator, Mapping, Sequence

from proreus.api.json_types import Json, JsonObject
from proreus.api.quota_usage import needs_of_containers, spelling
from proreus.api.values import quantity
from proreus.server.admission.plugins import lookup
from proreus.server.admission.plugins.refusal import Refused, as_forbidden
from proreus.server.registry.admission import Attributes
from proreus.server.registry.collection import Collection

_NOTE = "kubernetes.io/limit-ranger"
# Bounds, and what is compared with them: of the first there must be an amount.
_SIDES = (
    ("min", "minimum", ("request", "limit")),
    ("max", "maximum", ("limit", "request")),
)


class LimitRanger:
    def __init__(self, limit_ranges: Collection) -> None:
        self._limit_ranges = limit_ranges

    def _has_none(self, namespace: str) -> bool:
        """Most namespaces are without limits; False says nothing."""
        return self._limit_ranges.cache.peek_all(namespace) == []

    def set_defaults(self, attributes: Attributes) -> Awaitable[None] | None:
        """Of a new or resized pod."""
        if self._has_none(attributes.namespace) or _is_deleted(attributes):
            return None

        def fill(ranges: lookup.Objects) -> None:
            assert attributes.obj is not None
            if ranges:
                fill_containers(attributes.obj, ranges, notes=not attributes.subresource)

        return lookup.with_each(fill, self._limit_ranges, attributes.namespace)

    def check_bounds(self, attributes: Attributes) -> Awaitable[None] | None:
        """Of a new or resized pod, and of a claim."""
        if self._has_none(attributes.namespace) or _is_deleted(attributes):
            return None

        def check(ranges: lookup.Objects) -> None:
            assert attributes.obj is not None
            if ranges:
                check_one = check_pod if attributes.resource.plural == "pods" else check_claim
                with as_forbidden(attributes):
                    for one in ranges:  # the first that is violated is reported
                        check_one(attributes.obj, [one])

        return lookup.with_each(check, self._limit_ranges, attributes.namespace)


def _is_deleted(attributes: Attributes) -> bool:
    """What is marked for deletion may shrink or grow as its finalizers need."""
    old = attributes.old
    return old is not None and "deletionTimestamp" in old["metadata"]


def fill_containers(pod: JsonObject, ranges: Sequence[Json], *, notes: bool = True) -> None:
    """Give containers the requests and limits they lack, and say so in an annotation: it tells what
    the last of the ranges added. ``notes``: a resize changes no annotation."""
    for one in ranges:
        added = _fill_of_range(pod, one)
        if added and notes:
            text = f"LimitRanger plugin set: {'; '.join(added)}"
            pod["metadata"].setdefault("annotations", {})[_NOTE] = text


def _fill_of_range(pod: JsonObject, limit_range: Json) -> list[str]:
    requests: dict[str, str] = {}
    limits: dict[str, str] = {}
    for item in _items([limit_range], "Container"):
        requests |= item.get("defaultRequest") or {}
        limits |= item.get("default") or {}
    notes: list[str] = []
    for key, kind in (("containers", "container"), ("initContainers", "init container")):
        for container in pod["spec"].get(key) or ():
            for part, defaults in (("requests", requests), ("limits", limits)):
                if added := _fill(container, part, defaults):
                    word = part.removesuffix("s")
                    notes.append(f"{', '.join(added)} {word} for {kind} {container.get('name')}")
    return notes


def _fill(container: JsonObject, part: str, defaults: Mapping[str, str]) -> list[str]:
    """Copies what it changes: a resized container may share it with what is stored."""
    resources = container.get("resources") or {}
    given = resources.get(part) or {}
    missing = sorted(name for name in defaults if name not in given)
    if missing:
        added = {name: defaults[name] for name in missing}
        container["resources"] = {**resources, part: {**given, **added}}
    return missing


def check_pod(pod: Json, ranges: Sequence[Json]) -> None:
    """Raise Refused with every bound the pod breaks."""
    spec = pod["spec"]
    containers = [*(spec.get("containers") or ()), *(spec.get("initContainers") or ())]
    problems: list[str] = []
    for item in _items(ranges, "Container", "Pod"):
        if item["type"] == "Container":
            for container in containers:
                problems += _broken(item, container.get("resources") or {})
        else:
            problems += _broken(item, _total(spec))
    _refuse(problems)


def check_claim(claim: Json, ranges: Sequence[Json]) -> None:
    requests = (claim["spec"].get("resources") or {}).get("requests") or {}
    problems: list[str] = []
    for item in _items(ranges, "PersistentVolumeClaim"):
        for side, word, _ in _SIDES:
            for name, bound in sorted((item.get(side) or {}).items()):
                asked = requests.get(name)
                start = f"{word} {name} usage per {item['type']} is {bound}"
                if asked is None:
                    problems.append(f"{start}.  No request is specified")
                elif _less(asked, bound) if side == "min" else _less(bound, asked):
                    problems.append(f"{start}, but request is {asked}")
    _refuse(problems)


def _refuse(problems: list[str]) -> None:
    once = list(dict.fromkeys(problems))  # containers may break the same bound
    if once:
        raise Refused(once[0] if len(once) == 1 else f"[{', '.join(once)}]")


def _items(ranges: Sequence[Json], *kinds: str) -> Iterator[Json]:
    for entry in ranges:
        for item in entry["spec"].get("limits") or ():
            if item.get("type") in kinds:
                yield item


def _less(one: str | None, other: str | None) -> bool:
    if one is None or other is None:
        return False
    return quantity.amount(one) < quantity.amount(other)


def _broken(item: Json, resources: Json) -> Iterator[str]:
    requests, limits = resources.get("requests") or {}, resources.get("limits") or {}
    for side, word, order in _SIDES:
        for name, bound in sorted((item.get(side) or {}).items()):
            start = f"{word} {name} usage per {item['type']} is {bound}"
            given = {"request": requests.get(name), "limit": limits.get(name)}
            if given[order[0]] is None:
                yield f"{start}.  No {order[0]} is specified"
                continue
            for what in order:
                ends = (given[what], bound) if side == "min" else (bound, given[what])
                if _less(*ends):
                    yield f"{start}, but {what} is {given[what]}"
                    break
    for name, bound in sorted((item.get("maxLimitRequestRatio") or {}).items()):
        start = f"{name} max limit to request ratio per {item['type']} is {bound}"
        yield from _stretched(start, bound, requests.get(name), limits.get(name))


def _stretched(start: str, bound: str, request: str | None, limit: str | None) -> Iterator[str]:
    if not quantity.amount(request):
        yield f"{start}, but no request is specified or request is 0"
    elif not quantity.amount(limit):
        yield f"{start}, but no limit is specified or limit is 0"
    else:
        ratio = quantity.amount(limit) / quantity.amount(request)
        if ratio > quantity.amount(bound):
            yield f"{start}, but provided ratio is {float(ratio):f}"


def _total(spec: Json) -> JsonObject:
    made: JsonObject = {}
    for part in ("requests", "limits"):
        needed = needs_of_containers(spec, part)
        of_pod = (spec.get("resources") or {}).get(part) or {}
        made[part] = {
            name: quantity.from_amount(amount, spelling(spec, part, name)).text
            for name, amount in needed.items()
        } | {name: of_pod[name] for name in ("cpu", "memory") if name in of_pod}
    return made
