"""Requests and limits of a pod as a whole."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.server.kinds.creating import CONTAINER, pod, pod_errors

AT = "spec.resources"


def asking(part: str, **amounts: str) -> dict[str, Any]:
    return {**CONTAINER, "resources": {part: amounts}}


@pytest.mark.parametrize(
    ("resources", "problems"),
    [
        ({"limits": {"cpu": "2"}, "requests": {"cpu": "1"}}, []),
        ({"limits": {"cpu": "1"}, "requests": {"cpu": "2"}},
         ['requests: Invalid value: "2": must be less than or equal to cpu limit of 1']),
        ({"requests": {"ephemeral-storage": "1"}},
         ['requests[ephemeral-storage]: Unsupported value: "ephemeral-storage": supported values: '
          '"cpu", "hugepages-", "memory"']),
        ({"requests": {"x": "1"}},
         ['requests[x]: Invalid value: "x": must be a standard resource type or fully qualified']),
        ({"requests": {"example.com/x": "1"}},
         ['requests[example.com/x]: Unsupported value: "example.com/x": supported values: "cpu", '
          '"hugepages-", "memory"',
          "limits: Required value: Limit must be set for non overcommitable resources"]),
        ({"requests": {"cpu": "-1"}},
         ['requests[cpu]: Invalid value: "-1": must be greater than or equal to 0']),
        ({"claims": [{"name": "a"}]},
         ["claims: Forbidden: claims may not be set for Resources at pod-level"]),
        ({"limits": {"hugepages-2Mi": "2Mi"}}, [": Forbidden: HugePages require cpu or memory"]),
    ],
)  # fmt: skip
def test_which_resources_a_pod_may_ask_for(resources: dict[str, Any], problems: list[str]) -> None:
    found = pod_errors(resources=resources)

    assert [text.removeprefix(AT).removeprefix(".") for text in found] == problems


def test_a_pod_asks_for_what_its_containers_ask_for_together() -> None:
    containers = [asking("requests", cpu="500m"), {**asking("requests", cpu="1"), "name": "d"}]

    assert pod_errors(containers=containers, resources={"requests": {"cpu": "1500m"}}) == []
    assert pod_errors(containers=containers, resources={"requests": {"cpu": "1"}}) == [
        f'{AT}.requests[cpu]: Invalid value: "1": must be greater than or equal to aggregate '
        "container requests of 1500m"
    ]


def test_no_container_may_use_more_than_its_pod() -> None:
    found = pod_errors(
        containers=[asking("limits", memory="2Gi")],
        resources={"limits": {"memory": "1Gi"}, "requests": {"memory": "2Gi"}},
    )

    assert found[-1] == (
        f'{AT}.containers[0][memory].limits: Invalid value: "2Gi": must be less than or equal to '
        "pod limits of 1Gi"
    )


def test_a_pod_on_windows_has_no_resources_of_its_own() -> None:
    assert pod_errors(resources={"requests": {"x": "1"}}, os={"name": "windows"}) == [
        f"{AT}: Forbidden: may not be set for a windows pod"
    ]


def test_requests_follow_the_containers_and_else_the_limits() -> None:
    made = pod(
        containers=[asking("requests", cpu="1")],
        resources={"limits": {"cpu": "4", "memory": "1Gi"}},
    )

    assert made["spec"]["resources"]["requests"] == {"cpu": "1", "memory": "1Gi"}
    assert pod(resources={"requests": {"cpu": "1"}})["spec"]["resources"] == {
        "requests": {"cpu": "1"}
    }
