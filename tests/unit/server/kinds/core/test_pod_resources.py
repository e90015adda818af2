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


@pytest.mark.parametrize(
    ("name", "amount", "is_whole"),
    [
        ("hugepages-2Mi", "4Mi", True),
        ("hugepages-2Mi", "3Mi", False),
        ("hugepages-odd", "2Mi", False),
        ("hugepages-500m", "2Mi", False),
        ("hugepages-0", "0", False),
    ],
)
def test_huge_pages_come_in_whole_pages_of_a_size_that_exists(
    name: str, amount: str, is_whole: bool
) -> None:
    limits = {"cpu": "1", name: amount}

    found = pod_errors(containers=[{**CONTAINER, "resources": {"limits": limits}}])

    why = f"{amount} is not positive integer multiple of {name}"
    refusals = [
        f'spec.containers[0].resources.{part}[{name}]: Invalid value: "{amount}": {why}'
        for part in ("limits", "requests")
    ]
    assert found == ([] if is_whole else refusals)


def test_of_pages_the_request_is_compared_before_it_is_divided() -> None:
    resources = {"limits": {"cpu": "1", "hugepages-2Mi": "2Mi"},
                 "requests": {"hugepages-2Mi": "1Mi"}}  # fmt: skip

    found = pod_errors(containers=[{**CONTAINER, "resources": resources}])

    assert [text.removeprefix("spec.containers[0].resources.") for text in found] == [
        'requests: Invalid value: "1Mi": must be equal to hugepages-2Mi limit of 2Mi',
        'requests[hugepages-2Mi]: Invalid value: "1Mi": 1Mi is not positive integer multiple of '
        "hugepages-2Mi",
    ]
