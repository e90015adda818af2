"""LimitRange: defaults and bounds of requests and limits in a namespace."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from uuid import uuid4

from proreus.api.field_error import FieldError
from proreus.api.json_types import Json, JsonObject
from proreus.api.values import names, quantity
from proreus.server.kinds.parts.findings import Findings, items
from proreus.server.kinds.parts.resources import check_container_name, check_name, may_overcommit
from proreus.server.resource import Lifecycle, Names, Resource, Rules

_BOUNDS = ("max", "min", "default", "defaultRequest", "maxLimitRequestRatio")
_LIMITED = ("Container", "PersistentVolumeClaim", "Pod")


def _default(obj: JsonObject) -> None:
    """A container's missing defaults follow from its bounds."""
    for item in obj["spec"].get("limits") or ():
        if item.get("type") != "Container":
            continue
        for target, *sources in (("default", "max"), ("defaultRequest", "default", "min")):
            for source in sources:
                for name, value in (item.get(source) or {}).items():
                    item.setdefault(target, {}).setdefault(name, value)


def _validate(obj: JsonObject) -> list[FieldError]:
    found = Findings()
    seen: set[str] = set()
    for where, item in items(obj["spec"].get("limits"), "spec.limits"):
        kind = item.get("type") or ""
        _check_type(found, f"{where}.type", kind)
        if kind in seen:
            found.duplicate(f"{where}.type", kind)
        seen.add(kind)
        has_defaults = kind != "Pod"
        _check_names(found, where, item, _BOUNDS[: 4 if has_defaults else 2])
        if not has_defaults:
            for key in ("default", "defaultRequest"):
                if item.get(key):
                    found.forbid(f"{where}.{key}", "may not be specified when `type` is 'Pod'")
        if kind == "PersistentVolumeClaim" and not any(
            "storage" in (item.get(key) or {}) for key in ("min", "max")
        ):
            found.require(
                f"{where}.limits",
                None,
                "either minimum or maximum storage value is required, but neither was provided",
            )
        _check_names(found, where, item, ("maxLimitRequestRatio",))
        _check_bounds(found, where, item)
    return found


def _check_type(found: Findings, at: str, kind: str) -> None:
    problems = names.qualified_name(kind)
    if not problems and "/" not in kind and kind not in _LIMITED:
        problems = ["must be a standard limit type or fully qualified"]
    for why in problems:
        found.invalid(at, kind, why)


def _check_names(found: Findings, at: str, item: Json, fields: Sequence[str]) -> None:
    """The names of what is limited."""
    check = check_container_name if item.get("type") in ("Container", "Pod") else check_name
    for field in fields:
        for name in sorted(item.get(field) or ()):
            check(found, f"{at}.{field}[{name}]", name)


def _check_bounds(found: Findings, at: str, item: Json) -> None:
    maps = {key: item.get(key) or {} for key in _BOUNDS}
    for name in sorted({name for amounts in maps.values() for name in amounts}):
        value = {key: amounts.get(name) for key, amounts in maps.items()}
        _check_pair(found, f"{at}.min[{name}]", value, "min", "max", "min value", "max value")
        for low, high, field, words in (
            ("min", "defaultRequest", "defaultRequest", ("min value", "default request value")),
            ("defaultRequest", "max", "defaultRequest", ("default request value", "max value")),
            ("defaultRequest", "default", "defaultRequest",
             ("default request value", "default limit value")),
        ):  # fmt: skip
            _check_pair(
                found, f"{at}.{field}[{name}]", value, low, high, *words, printed="defaultRequest"
            )
        # Here the value shown is the other side's; that is how the reference does it.
        _check_pair(
            found, f"{at}.default[{name}]", value, "min", "default", "min value", "default value",
            printed="min",
        )  # fmt: skip
        _check_pair(
            found, f"{at}.default[{name}]", value, "default", "max", "default value", "max value",
            printed="max",
        )  # fmt: skip
        _check_ratio(found, f"{at}.maxLimitRequestRatio[{name}]", value)
        request, limit = value["defaultRequest"], value["default"]
        if (
            request is not None
            and limit is not None
            and not may_overcommit(name)
            and quantity.amount(request) != quantity.amount(limit)
        ):
            why = f"default value {limit} must equal to defaultRequest value {request} in {name}"
            found.invalid(f"{at}.defaultRequest[{name}]", request, why)


def _check_ratio(found: Findings, at: str, value: Mapping[str, str | None]) -> None:
    """What a limit may be as a multiple of the request: at least 1, at most max/min."""
    ratio, low, high = value["maxLimitRequestRatio"], value["min"], value["max"]
    if ratio is None:
        return
    if quantity.amount(ratio) < 1:
        found.invalid(at, ratio, f"ratio {ratio} is less than 1")
    if low is None or high is None or not (least := _thousandths(low)):
        return
    most = _thousandths(high) / least
    if _thousandths(ratio) / 1000 > most:
        found.invalid(at, ratio, f"ratio {ratio} is greater than max/min = {most:f}")


def _thousandths(text: str) -> int:
    """Kubernetes compares at this precision, rounded up, in 64 bits."""
    return min(math.ceil(quantity.amount(text) * 1000), 2**63 - 1)


def _check_pair(
    found: Findings, at: str, value: Mapping[str, str | None], low: str, high: str,
    low_text: str, high_text: str, printed: str = "",
) -> None:  # fmt: skip
    small, large = value[low], value[high]
    if small is None or large is None or quantity.amount(small) <= quantity.amount(large):
        return
    why = f"{low_text} {small} is greater than {high_text} {large}"
    found.invalid(at, value[printed or low], why)


def _prepare(obj: JsonObject) -> None:
    """The only kind whose objects are named by the server without being asked to."""
    if not obj["metadata"].get("name"):
        obj["metadata"]["name"] = str(uuid4())


RESOURCES = (
    Resource(
        names=Names.of("", "v1", "LimitRange", "limitranges", "limits"),
        namespaced=True,
        lifecycle=Lifecycle(create_on_update=True),
        rules=Rules(default=_default, prepare_create=_prepare, validate=_validate),
    ),
)
