"""Autoscalers: version 1 knows the CPU only and carries the rest of version 2 in annotations."""

from __future__ import annotations

import json
from typing import Any

from proreus.api.json_types import Json, JsonObject

_PREFIX = "autoscaling.alpha.kubernetes.io/"
_METRICS = f"{_PREFIX}metrics"
_CURRENT = f"{_PREFIX}current-metrics"
_CONDITIONS = f"{_PREFIX}conditions"
_BEHAVIOR = f"{_PREFIX}behavior"
_SHARED_SPEC = ("scaleTargetRef", "minReplicas", "maxReplicas")
_SHARED_STATUS = ("observedGeneration", "lastScaleTime", "currentReplicas", "desiredReplicas")


def to_v1(obj: JsonObject) -> JsonObject:
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    made: JsonObject = {
        "spec": _shared(spec, _SHARED_SPEC),
        "status": _shared(status, _SHARED_STATUS),
    }
    made["status"].setdefault("currentReplicas", 0)
    annotations = _without(obj["metadata"].get("annotations"))
    others: list[Json] = []
    for metric in spec.get("metrics") or ():
        share = _cpu_share(metric, "target")
        if share is not None:
            made["spec"]["targetCPUUtilizationPercentage"] = share
        else:
            others.append(_metric_to_v1(metric))
    current: list[Json] = []
    for metric in status.get("currentMetrics") or ():
        share = _cpu_share(metric, "current")
        if share is not None:
            made["status"]["currentCPUUtilizationPercentage"] = share
        current.append(_current_to_v1(metric))
    for key, value in (
        (_METRICS, others),
        (_CURRENT, current),
        (_CONDITIONS, status.get("conditions")),
        (_BEHAVIOR, spec.get("behavior")),
    ):
        if value:
            annotations[key] = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    return {**made, "metadata": _annotated(obj["metadata"], annotations)}


def to_v2(obj: JsonObject) -> JsonObject:
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    given = obj["metadata"].get("annotations") or {}
    made: JsonObject = {
        "spec": _shared(spec, _SHARED_SPEC),
        "status": _shared(status, _SHARED_STATUS),
    }
    if not made["status"].get("currentReplicas"):
        made["status"].pop("currentReplicas", None)
    metrics = [_metric_to_v2(metric) for metric in _read(given, _METRICS, list)]
    if (share := spec.get("targetCPUUtilizationPercentage")) is not None:
        target = {"type": "Utilization", "averageUtilization": share}
        metrics.append({"type": "Resource", "resource": {"name": "cpu", "target": target}})
    if metrics:
        made["spec"]["metrics"] = metrics
    if behavior := _read(given, _BEHAVIOR, dict):
        made["spec"]["behavior"] = behavior
    if conditions := _read(given, _CONDITIONS, list):
        made["status"]["conditions"] = conditions
    current = [_current_to_v2(metric) for metric in _read(given, _CURRENT, list)]
    share = status.get("currentCPUUtilizationPercentage")
    if share is not None and not any(_cpu_share(m, "current") is not None for m in current):
        value = {"averageUtilization": share}
        current.append({"type": "Resource", "resource": {"name": "cpu", "current": value}})
    made["status"]["currentMetrics"] = current or None
    return {**made, "metadata": _annotated(obj["metadata"], _without(given))}


def _shared(part: Json, keys: tuple[str, ...]) -> JsonObject:
    return {key: part[key] for key in keys if key in part}


def _without(annotations: Json | None) -> JsonObject:
    own = (_METRICS, _CURRENT, _CONDITIONS, _BEHAVIOR)
    return {key: value for key, value in (annotations or {}).items() if key not in own}


def _annotated(metadata: Json, annotations: JsonObject) -> JsonObject:
    made = {key: value for key, value in metadata.items() if key != "annotations"}
    return {**made, "annotations": annotations} if annotations else made


def _read(annotations: Json, key: str, kind: type) -> Any:
    """The value of an annotation; one that cannot be decoded counts as empty, as in Kubernetes."""
    try:
        found = json.loads(annotations.get(key) or "null")
    except (ValueError, RecursionError):  # nested too deep
        found = None
    return found if isinstance(found, kind) else kind()


def _cpu_share(metric: Json, value: str) -> int | None:
    resource = metric.get("resource") or {}
    if metric.get("type") != "Resource" or resource.get("name") != "cpu":
        return None
    share: int | None = (resource.get(value) or {}).get("averageUtilization")
    return share


def _filled(**fields: Any) -> JsonObject:
    return {key: value for key, value in fields.items() if value is not None}


def _reference(part: Json | None) -> JsonObject | None:
    """In the order Go writes it, so that the annotation is the same text."""
    if part is None:
        return None
    return _filled(kind=part.get("kind"), name=part.get("name"), apiVersion=part.get("apiVersion"))


def _metric_to_v1(metric: Json) -> JsonObject:
    """One metric in the flat form of the annotation."""
    made: JsonObject = {"type": metric.get("type")}
    if (source := metric.get("object")) is not None:
        target = source.get("target") or {}
        made["object"] = _filled(
            target=_reference(source.get("describedObject")),
            metricName=(source.get("metric") or {}).get("name"),
            targetValue=target.get("value") or ("0" if target.get("averageValue") else None),
            selector=(source.get("metric") or {}).get("selector"),
            averageValue=target.get("averageValue"),
        )
    if (source := metric.get("pods")) is not None:
        made["pods"] = _filled(
            metricName=(source.get("metric") or {}).get("name"),
            targetAverageValue=(source.get("target") or {}).get("averageValue"),
            selector=(source.get("metric") or {}).get("selector"),
        )
    for key in ("resource", "containerResource"):
        if (source := metric.get(key)) is not None:
            made[key] = _flat_resource(source, "target")
    if (source := metric.get("external")) is not None:
        target = source.get("target") or {}
        made["external"] = _filled(
            metricName=(source.get("metric") or {}).get("name"),
            metricSelector=(source.get("metric") or {}).get("selector"),
            targetValue=target.get("value"),
            targetAverageValue=target.get("averageValue"),
        )
    return made


def _metric_to_v2(metric: Json) -> JsonObject:
    made: JsonObject = {"type": metric.get("type")}
    if (source := metric.get("object")) is not None:
        average = source.get("averageValue")
        target = (
            {"type": "AverageValue", "averageValue": average}
            if average is not None
            else {"type": "Value", "value": source.get("targetValue")}
        )
        made["object"] = {
            "describedObject": source.get("target"),
            "metric": _filled(name=source.get("metricName"), selector=source.get("selector")),
            "target": target,
        }
    if (source := metric.get("pods")) is not None:
        made["pods"] = {
            "metric": _filled(name=source.get("metricName"), selector=source.get("selector")),
            "target": {"type": "AverageValue", "averageValue": source.get("targetAverageValue")},
        }
    for key in ("resource", "containerResource"):
        if (source := metric.get(key)) is not None:
            share, value = source.get("targetAverageUtilization"), source.get("targetAverageValue")
            made[key] = _filled(
                name=source.get("name"),
                container=source.get("container"),
                target=_filled(
                    type="AverageValue" if share is None else "Utilization",
                    averageUtilization=share,
                    averageValue=value,
                ),
            )
    if (source := metric.get("external")) is not None:
        value, average = source.get("targetValue"), source.get("targetAverageValue")
        made["external"] = {
            "metric": _filled(name=source.get("metricName"), selector=source.get("metricSelector")),
            "target": _filled(
                type="Value" if value is not None else "AverageValue",
                value=value,
                averageValue=average,
            ),
        }
    return made


def _flat_resource(source: Json, part: str) -> JsonObject:
    """``part``: target or current, of which v1 has the values beside the name."""
    values = source.get(part) or {}
    averages = {
        f"{part}AverageUtilization": values.get("averageUtilization"),
        f"{part}AverageValue": values.get("averageValue"),
    }
    return _filled(name=source.get("name"), **averages, container=source.get("container"))


def _current_to_v1(metric: Json) -> JsonObject:
    """A measured metric; resources are flat, the others keep their nested form."""
    made: JsonObject = {"type": metric.get("type")}
    for key, part in metric.items():
        if key in ("resource", "containerResource"):
            made[key] = _flat_resource(part, "current")
        elif key != "type":
            made[key] = part
    return made


def _current_to_v2(metric: Json) -> JsonObject:
    made: JsonObject = {"type": metric.get("type")}
    for key, part in metric.items():
        if key in ("resource", "containerResource") and isinstance(part, dict):
            made[key] = _filled(
                name=part.get("name"),
                container=part.get("container"),
                current=_filled(
                    averageUtilization=part.get("currentAverageUtilization"),
                    averageValue=part.get("currentAverageValue"),
                ),
            )
        elif key != "type":
            made[key] = part
    return made
