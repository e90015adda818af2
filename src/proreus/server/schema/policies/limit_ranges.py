"""Limit ranges: defaults for containers, bounds for containers, pods and claims."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

from proreus.api.values import quantity
from proreus.server.schema.policies.refused import Refused

Json = Mapping[str, Any]
JsonObject = dict[str, Any]
_NOTE = "kubernetes.io/limit-ranger"
_ZERO = Fraction(0)


def fill_containers(pod: JsonObject, ranges: Sequence[Json]) -> None:
    """Give containers the requests and limits they lack, and say so in an annotation."""
    requests: dict[str, str] = {}
    limits: dict[str, str] = {}
    for item in _items(ranges, "Container"):
        for name, value in (item.get("defaultRequest") or {}).items():
            requests.setdefault(name, value)
        for name, value in (item.get("default") or {}).items():
            limits.setdefault(name, value)
    notes: list[str] = []
    for key, kind in (("containers", "container"), ("initContainers", "init container")):
        for container in pod["spec"].get(key) or ():
            resources = container.setdefault("resources", {})
            for part, defaults in (("requests", requests), ("limits", limits)):
                if added := _fill(resources, part, defaults):
                    word = part.removesuffix("s")
                    notes.append(f"{', '.join(added)} {word} for {kind} {container.get('name')}")
    if notes:
        text = f"LimitRanger plugin set: {'; '.join(notes)}"
        pod["metadata"].setdefault("annotations", {})[_NOTE] = text


def _fill(resources: JsonObject, part: str, defaults: Mapping[str, str]) -> list[str]:
    missing = sorted(name for name in defaults if name not in (resources.get(part) or {}))
    for name in missing:
        resources.setdefault(part, {})[name] = defaults[name]
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
        for name in sorted({*(item.get("min") or {}), *(item.get("max") or {})}):
            low, high = (item.get("min") or {}).get(name), (item.get("max") or {}).get(name)
            asked = requests.get(name)
            where = f"{name} usage per {item['type']} is"
            if low is not None and _less(asked, low):
                problems.append(f"minimum {where} {low}, but request is {asked}")
            if high is not None and _less(high, asked):
                problems.append(f"maximum {where} {high}, but request is {asked}")
    _refuse(problems)


def _refuse(problems: list[str]) -> None:
    if problems:
        raise Refused(problems[0] if len(problems) == 1 else f"[{', '.join(problems)}]")


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
    kind = item["type"]
    for name, bound in sorted((item.get("min") or {}).items()):
        yield from _below(name, kind, bound, requests.get(name), limits.get(name))
    for name, bound in sorted((item.get("max") or {}).items()):
        yield from _above(name, kind, bound, requests.get(name), limits.get(name))
    for name, bound in sorted((item.get("maxLimitRequestRatio") or {}).items()):
        yield from _stretched(name, kind, bound, requests.get(name), limits.get(name))


def _below(
    name: str, kind: str, bound: str, request: str | None, limit: str | None
) -> Iterator[str]:
    start = f"minimum {name} usage per {kind} is {bound}"
    if request is None:
        yield f"{start}.  No request is specified"
    elif _less(request, bound):
        yield f"{start}, but request is {request}"
    elif _less(limit, bound):
        yield f"{start}, but limit is {limit}"


def _above(
    name: str, kind: str, bound: str, request: str | None, limit: str | None
) -> Iterator[str]:
    start = f"maximum {name} usage per {kind} is {bound}"
    if limit is None:
        yield f"{start}.  No limit is specified"
    elif _less(bound, limit):
        yield f"{start}, but limit is {limit}"
    elif _less(bound, request):
        yield f"{start}, but request is {request}"


def _stretched(
    name: str, kind: str, bound: str, request: str | None, limit: str | None
) -> Iterator[str]:
    start = f"{name} max limit to request ratio per {kind} is {bound}"
    if not quantity.amount(request):
        yield f"{start}, but no request is specified or request is 0"
    elif not quantity.amount(limit):
        yield f"{start}, but no limit is specified or limit is 0"
    else:
        ratio = quantity.amount(limit) / quantity.amount(request)
        if ratio > quantity.amount(bound):
            yield f"{start}, but provided ratio is {float(ratio):f}"


def _total(spec: Json) -> JsonObject:
    """All containers run together, init containers one by one before them."""
    made: JsonObject = {}
    for part in ("requests", "limits"):
        together = [_part(container, part) for container in spec.get("containers") or ()]
        before = [_part(container, part) for container in spec.get("initContainers") or ()]
        names = {name for amounts in (*together, *before) for name in amounts}
        made[part] = {
            name: quantity.from_amount(
                max(
                    sum((quantity.amount(amounts.get(name)) for amounts in together), _ZERO),
                    max((quantity.amount(amounts.get(name)) for amounts in before), default=_ZERO),
                )
            ).text
            for name in names
        }
    return made


def _part(container: Json, part: str) -> Json:
    return (container.get("resources") or {}).get(part) or {}
