"""Horizontal pod autoscalers (as version 2 stores them) and disruption budgets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from proreus.api.field_error import FieldError
from proreus.api.values import names, quantity
from proreus.server.schema.kinds.findings import NOT_NEGATIVE, Findings, items
from proreus.server.schema.kinds.label_selectors import check_selector
from proreus.server.schema.kinds.resources import check_container_name
from proreus.server.schema.kinds.workloads import check_not_over_100, check_share
from proreus.server.schema.rules import JsonObject, Rules

Json = Mapping[str, Any]
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
    can_be_zero = any(metric.get("type") in ("Object", "External") for metric in metrics)
    least = 0 if can_be_zero else 1
    if low is not None and low < least:
        found.invalid("spec.minReplicas", low, f"must be greater than or equal to {least}")
    if high < 1:
        found.invalid("spec.maxReplicas", high, "must be greater than 0")
    if low is not None and high < low:
        found.invalid("spec.maxReplicas", high, "must be greater than or equal to `minReplicas`")
    _check_reference(found, "spec.scaleTargetRef", spec.get("scaleTargetRef") or {})
    _check_metrics(found, metrics, low)
    if (behavior := spec.get("behavior")) is not None:
        for key in ("scaleUp", "scaleDown"):
            _check_scaling(found, f"spec.behavior.{key}", behavior.get(key))
    return found


def _check_reference(found: Findings, at: str, reference: Json) -> None:
    for key in ("kind", "name"):
        if found.require(f"{at}.{key}", reference.get(key)):
            found.name(f"{at}.{key}", reference[key], names.path_segment)


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
    """Of several sources the first is judged, and those of other types are too many."""
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
            _check_reference(found, f"{at}.describedObject", source.get("describedObject") or {})
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


HORIZONTAL_POD_AUTOSCALER = Rules(
    default=_default,
    validate=_validate,
    validate_update=lambda new, _: _validate(new),
    validate_status=_validate_status,
)


# --- disruption budgets


def _validate_budget(obj: JsonObject) -> list[FieldError]:
    found, spec = Findings(), obj["spec"]
    least, most = spec.get("minAvailable"), spec.get("maxUnavailable")
    if least is not None and most is not None:
        shown = {
            "MinAvailable": least,
            "Selector": spec.get("selector"),
            "MaxUnavailable": most,
            "UnhealthyPodEvictionPolicy": spec.get("unhealthyPodEvictionPolicy"),
        }
        found.invalid("spec", shown, "minAvailable and maxUnavailable cannot be both set")
    for key, value in (("minAvailable", least), ("maxUnavailable", most)):
        check_share(found, f"spec.{key}", value)
        check_not_over_100(found, f"spec.{key}", value)
    check_selector(found, "spec.selector", spec.get("selector"))
    found.one_of(
        "spec.unhealthyPodEvictionPolicy",
        spec.get("unhealthyPodEvictionPolicy"),
        ("AlwaysAllow", "IfHealthyBudget"),
    )
    return found


def _budget_status(new: JsonObject, _: JsonObject) -> list[FieldError]:
    found, status = Findings(), new.get("status") or {}
    for key in ("disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods"):
        found.not_negative(f"status.{key}", status.get(key))
    return found


POD_DISRUPTION_BUDGET = Rules(
    validate=_validate_budget,
    validate_update=lambda new, _: _validate_budget(new),
    validate_status=_budget_status,
)
