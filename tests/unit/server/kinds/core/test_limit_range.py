"""Limit ranges."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from tests.unit.server.kinds.creating import created, errors


def test_limits_are_of_known_types_and_resources() -> None:
    limits = [{"type": "X"}, {"type": "Pod", "max": {"foo": "1"}}]

    assert errors("v1", "LimitRange", spec={"limits": limits}) == [
        'spec.limits[0].type: Invalid value: "X": must be a standard limit type or fully qualified',
        'spec.limits[1].max[foo]: Invalid value: "foo": must be a standard resource type or fully '
        "qualified",
        'spec.limits[1].max[foo]: Invalid value: "foo": must be a standard resource for containers',
    ]


@pytest.mark.parametrize(
    ("bounds", "problem"),
    [
        ({"max": {"cpu": "2"}, "min": {"cpu": "1"}, "maxLimitRequestRatio": {"cpu": "2"}}, ""),
        (
            {"max": {"cpu": "2"}, "min": {"cpu": "1"}, "maxLimitRequestRatio": {"cpu": "3"}},
            'maxLimitRequestRatio[cpu]: Invalid value: "3": ratio 3 is greater than '
            "max/min = 2.000000",
        ),
        (
            {"maxLimitRequestRatio": {"cpu": "500m"}},
            'maxLimitRequestRatio[cpu]: Invalid value: "500m": ratio 500m is less than 1',
        ),
        (
            {"default": {"example.com/a": "4"}, "defaultRequest": {"example.com/a": "2"}},
            'defaultRequest[example.com/a]: Invalid value: "2": default value 4 must equal to '
            "defaultRequest value 2 in example.com/a",
        ),
        ({"max": {"cpu": "1e400"}, "min": {"cpu": "1"}, "maxLimitRequestRatio": {"cpu": "2"}}, ""),
    ],
)
def test_ratios_of_limits_to_requests(bounds: dict[str, Any], problem: str) -> None:
    limits = [{"type": "Container", **bounds}]

    found = errors("v1", "LimitRange", spec={"limits": limits})

    assert found == ([f"spec.limits[0].{problem}"] if problem else [])


def test_a_limit_range_completes_containers_only() -> None:
    item = {"type": "Container", "max": {"cpu": "2"}, "min": {"memory": "1Mi"}}

    made = created("v1", "LimitRange", spec={"limits": [item]})

    assert made["spec"]["limits"] == [
        {**item, "default": {"cpu": "2"}, "defaultRequest": {"cpu": "2", "memory": "1Mi"}}
    ]


def test_a_limit_range_without_a_name_is_given_one() -> None:
    made = created("v1", "LimitRange", metadata={"name": ""})

    assert UUID(made["metadata"]["name"]).version == 4
