"""HorizontalPodAutoscaler: scales by metrics: one kind in two versions, stored as v2."""

from __future__ import annotations

from typing import Any

from proreus.api.field_error import FieldError
from proreus.api.json_types import Json, JsonObject
from proreus.api.values import names, quantity
from proreus.server.kinds.autoscaling.horizontal_pod_autoscaler.conversion import to_v1, to_v2
from proreus.server.kinds.parts.cells import NONE, UNSET, age, name_of, number
from proreus.server.kinds.parts.findings import NOT_NEGATIVE, Findings, items
from proreus.server.kinds.parts.references import check_reference
from proreus.server.kinds.parts.resources import check_container_name
from proreus.server.resource import Generation, Lifecycle, Names, Persistence, Resource, Rules
from proreus.server.resource.conversion import Conversion
from proreus.server.resource.printer import Cells, Printer

_UTILIZATION = 80
_STABILIZATION_MAX_S = 3600
_PERIOD_MAX_S = 1800
_METRIC_TYPES = ("ContainerResource", "External", "Object", "Pods", "Resource")
_SELECT = ("Disabled", "Max", "Min")
# In this order Kubernetes looks for them.
_SOURCES = {"Object": "object", "External": "external", "Pods": "pods", "Resource": "resource",
            "ContainerResource": "containerResource"}  # fmt: skip
_PER_POD = "value for metric or a per-pod target"
_FAST = {"periodSeconds": 15, "type": "Percent", "value": 100}


def _default(obj: JsonObject) -> None:
    spec = obj["spec"]
    spec.setdefault("minReplicas", 1)
    if not spec.get("metrics"):
        target = {"type": "Utilization", "averageUtilization": _UTILIZATION}
        spec["metrics"] = [{"type": "Resource", "resource": {"name": "cpu", "target": target}}]
    if (behavior := spec.get("behavior")) is not None:
        up = behavior.setdefault("scaleUp", {})
        up.setdefault("stabilizationWindowSeconds", 0)
        up.setdefault("selectPolicy", "Max")
        up.setdefault("policies", [{"periodSeconds": 15, "type": "Pods", "value": 4}, dict(_FAST)])
        down = behavior.setdefault("scaleDown", {})
        down.setdefault("selectPolicy", "Max")
        down.setdefault("policies", [dict(_FAST)])


def _validate(obj: JsonObject) -> list[FieldError]:
    found, spec = Findings(), obj["spec"]
    low, high = spec.get("minReplicas"), spec.get("maxReplicas") or 0
    metrics = spec.get("metrics") or []
    if low is not None and high < low:
        found.invalid("spec.maxReplicas", high, "must be greater than or equal to `minReplicas`")
    check_reference(found, "spec.scaleTargetRef", spec.get("scaleTargetRef") or {})
    _check_metrics(found, metrics, low)
    if (behavior := spec.get("behavior")) is not None:
        for key in ("scaleUp", "scaleDown"):
            _check_scaling(found, f"spec.behavior.{key}", behavior.get(key))
    # What the types declare is checked after all that functions check.
    _check_least(found, "spec.minReplicas", low)
    if found.require("spec.maxReplicas", high):
        _check_least(found, "spec.maxReplicas", high)
    return found


def _check_least(found: Findings, at: str, replicas: int | None) -> None:
    if replicas is not None and replicas < 1:
        found.invalid(at, replicas, "must be greater than or equal to 1")


def _check_metrics(found: Findings, metrics: list[Json], low: int | None) -> None:
    at = "spec.metrics"
    for where, metric in items(metrics, at):
        _check_metric(found, where, metric)
    if low == 0 and not any(metric.get("type") in ("Object", "External") for metric in metrics):
        found.forbid(
            at,
            "must specify at least one Object or External metric to support scaling to zero "
            "replicas",
        )


def _check_metric(found: Findings, at: str, metric: Json) -> None:
    """Of several sources the first is checked, and those of other types are too many."""
    kind = metric.get("type") or ""
    found.require(f"{at}.type", kind, "must specify a metric source type")
    found.one_of(f"{at}.type", kind, _METRIC_TYPES)
    given = [key for key in _SOURCES.values() if metric.get(key) is not None]
    if given:
        _check_source(found, f"{at}.{given[0]}", given[0], metric[given[0]])
    key = _SOURCES.get(kind)
    if key is None:
        found.one_of(f"{at}.type", kind, _METRIC_TYPES)  # once more; so does Kubernetes
    elif key not in given:
        why = "must populate information for the given metric source"
        found.require(f"{at}.{key}", None, why)
    if len(given) != 1:
        for other in given:
            if other != key:
                found.forbid(f"{at}.{other}", "must populate the given metric source only")


def _check_source(found: Findings, at: str, key: str, source: Json) -> None:
    target = source.get("target") or {}
    match key:
        case "resource" | "containerResource":
            found.require(f"{at}.name", source.get("name"), "must specify a resource name")
            if key == "containerResource":
                _check_container(found, at, source)
        case "object":
            check_reference(found, f"{at}.describedObject", source.get("describedObject") or {})
            _check_identifier(found, f"{at}.metric", source.get("metric") or {})
        case _:
            _check_identifier(found, f"{at}.metric", source.get("metric") or {})
    _check_target(found, f"{at}.target", target)
    _check_amounts(found, f"{at}.target", key, target)


def _check_container(found: Findings, at: str, source: Json) -> None:
    if name := source.get("name"):
        check_container_name(found, f"{at}.name", name)
    if found.require(f"{at}.container", source.get("container"), "must specify a container"):
        found.name(f"{at}.container", source["container"], names.dns_label)


def _check_identifier(found: Findings, at: str, metric: Json) -> None:
    if found.require(f"{at}.name", metric.get("name"), "must specify a metric name"):
        found.name(f"{at}.name", metric["name"], names.path_segment)


def _check_target(found: Findings, at: str, target: Json) -> None:
    kind = target.get("type") or ""
    found.require(f"{at}.type", kind, "must specify a metric target type")
    if kind not in ("Utilization", "Value", "AverageValue"):
        found.invalid(f"{at}.type", kind, "must be either Utilization, Value, or AverageValue")
    for key in ("value", "averageValue"):
        amount = target.get(key)
        if amount is not None and quantity.amount(amount) <= 0:
            found.invalid(f"{at}.{key}", amount, "must be positive")
    share = target.get("averageUtilization")
    if share is not None and share < 1:
        found.invalid(f"{at}.averageUtilization", share, "must be greater than 0")


def _check_amounts(found: Findings, at: str, key: str, target: Json) -> None:
    """Which of the numbers a source needs, and which of them it may not have together."""
    value, average, share = (
        target.get(name) for name in ("value", "averageValue", "averageUtilization")
    )
    match key:
        case "object" | "external":
            if value is None and average is None:
                which = "value or averageValue" if key == "object" else _PER_POD
                found.require(f"{at}.averageValue", None, f"must set either a target {which}")
            elif key == "external" and value is not None and average is not None:
                why = "may not set both a target value for metric and a per-pod target"
                found.forbid(f"{at}.value", why)
        case "pods":
            if average is None:
                why = "must specify a positive target averageValue"
                found.require(f"{at}.averageValue", None, why)
        case _:
            if share is None and average is None:
                why = "must set either a target raw value or a target utilization"
                found.require(f"{at}.averageUtilization", None, why)
            elif share is not None and average is not None:
                why = "may not set both a target raw value and a target utilization"
                found.forbid(f"{at}.averageValue", why)


def _check_scaling(found: Findings, at: str, rules: Json | None) -> None:
    if rules is None:
        return
    seconds = rules.get("stabilizationWindowSeconds")
    where = f"{at}.stabilizationWindowSeconds"
    if seconds is not None and seconds < 0:
        found.invalid(where, seconds, "must be greater than or equal to zero")
    if seconds is not None and seconds > _STABILIZATION_MAX_S:
        found.invalid(where, seconds, f"must be less than or equal to {_STABILIZATION_MAX_S}")
    found.one_of(f"{at}.selectPolicy", rules.get("selectPolicy"), _SELECT)
    policies = rules.get("policies")
    found.require(f"{at}.policies", policies, "must specify at least one Policy")
    for place, policy in items(policies, f"{at}.policies"):
        found.one_of(f"{place}.type", policy.get("type") or "", ("Percent", "Pods"))
        _check_positive(found, f"{place}.value", policy.get("value") or 0)
        period = policy.get("periodSeconds") or 0
        _check_positive(found, f"{place}.periodSeconds", period)
        if period > _PERIOD_MAX_S:
            found.invalid(
                f"{place}.periodSeconds", period, f"must be less than or equal to {_PERIOD_MAX_S}"
            )
    tolerance = rules.get("tolerance")
    if tolerance is not None and quantity.amount(tolerance) < 0:
        found.invalid(f"{at}.tolerance", tolerance, NOT_NEGATIVE)


def _check_positive(found: Findings, at: str, value: int) -> None:
    if value <= 0:
        found.invalid(at, value, "must be greater than zero")


def _validate_status(new: JsonObject, _: JsonObject) -> list[FieldError]:
    found, status = Findings(), new.get("status") or {}
    for key in ("currentReplicas", "desiredReplicas"):
        found.not_negative(f"status.{key}", status.get(key))
    return found


_RULES = Rules(default=_default, validate=_validate, validate_status=_validate_status)


def _fill(obj: Json, now: float) -> Cells:
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    target = spec.get("scaleTargetRef") or {}
    least = spec.get("minReplicas")
    return [
        name_of(obj),
        f"{target.get('kind', '')}/{target.get('name', '')}",
        _targets(spec.get("metrics") or (), status.get("currentMetrics") or ()),
        UNSET if least is None else str(least),
        number(spec.get("maxReplicas")),
        number(status.get("currentReplicas")),
        age(obj, now),
    ]


def _targets(metrics: Any, current: Any) -> str:
    if not metrics:
        return NONE
    texts = [
        _target(metric, current[at] if at < len(current) else {})
        for at, metric in enumerate(metrics)
    ]
    first = ", ".join(texts[:2])
    return f"{first} + {len(texts) - 2} more..." if len(texts) > 2 else first


def _target(metric: Json, current: Json) -> str:
    kind = metric.get("type", "")
    source = _SOURCES.get(kind)
    if source is None:
        return "<unknown type>"
    wanted = metric.get(source) or {}
    target, now = wanted.get("target") or {}, (current.get(source) or {}).get("current") or {}
    name = f"{wanted.get('name', '')}: " if kind.endswith("Resource") else ""
    if target.get("averageValue") is not None:
        average = " (avg)" if kind in ("External", "Object") else ""
        return f"{name}{_or_unknown(now.get('averageValue'))}/{target['averageValue']}{average}"
    if kind.endswith("Resource"):
        used, wanted_share = now.get("averageUtilization"), target.get("averageUtilization")
        left = _or_unknown(None if used is None else f"{used}%")
        return f"{name}{left}/{'<auto>' if wanted_share is None else f'{wanted_share}%'}"
    return f"{_or_unknown(now.get('value'))}/{target.get('value', '')}"


def _or_unknown(value: Any) -> str:
    return "<unknown>" if value is None else str(value)


_PRINTER = Printer.of(
    _fill, "Name", "Reference", "Targets", "MinPods", "MaxPods", "Replicas", "Age"
)


def _autoscaler(version: str, conversion: Conversion | None = None) -> Resource:
    names = Names.of(
        "autoscaling",
        version,
        "HorizontalPodAutoscaler",
        "horizontalpodautoscalers",
        "hpa",
        categories=("all",),
    )
    return Resource(
        names=names,
        namespaced=True,
        has_status=True,
        persistence=Persistence(version="v2", conversion=conversion),
        lifecycle=Lifecycle(generation=Generation()),
        rules=_RULES,
        printer=_PRINTER,
    )


RESOURCES = (_autoscaler("v2"), _autoscaler("v1", Conversion(to_served=to_v1, to_stored=to_v2)))
