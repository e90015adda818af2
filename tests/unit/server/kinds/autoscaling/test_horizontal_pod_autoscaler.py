"""Autoscalers."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.server.kinds.creating import errors
from tests.unit.server.kinds.printing import cells


def test_an_autoscaler_tolerates_nothing_negative() -> None:
    spec = {
        "scaleTargetRef": {"kind": "Deployment", "name": "a"},
        "maxReplicas": 1,
        "behavior": {"scaleDown": {"tolerance": "-1"}},
    }

    assert errors("autoscaling/v2", "HorizontalPodAutoscaler", spec=spec) == [
        'spec.behavior.scaleDown.tolerance: Invalid value: "-1": must be greater than or equal to 0'
    ]


def metric(current: dict[str, Any] | None, **target: Any) -> str:
    spec = {"metrics": [{"type": "Resource", "resource": {"name": "cpu", "target": target}}]}
    status = {"currentMetrics": [{"resource": {"current": current}}]} if current else {}
    found = cells("autoscaling", "HorizontalPodAutoscaler", {"spec": spec, "status": status})
    return str(found[2])


def test_targets_of_an_autoscaler() -> None:
    assert metric(None, averageUtilization=80) == "cpu: <unknown>/80%"
    assert metric({"averageUtilization": 50}, averageUtilization=80) == "cpu: 50%/80%"
    assert metric({"averageValue": "1"}, averageValue="2") == "cpu: 1/2"
    assert metric(None) == "cpu: <unknown>/<auto>"


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ({"type": "Pods", "pods": {"target": {"averageValue": "5"}}}, "<unknown>/5"),
        ({"type": "Object", "object": {"target": {"value": "5"}}}, "<unknown>/5"),
        ({"type": "External", "external": {"target": {"averageValue": "5"}}}, "<unknown>/5 (avg)"),
        ({"type": "Odd"}, "<unknown type>"),
    ],
)
def test_other_sources_of_metrics(source: Any, text: str) -> None:
    body = {"spec": {"metrics": [source] * 3}}
    found = cells("autoscaling", "HorizontalPodAutoscaler", body)
    assert found[2] == f"{text}, {text} + 1 more..."
