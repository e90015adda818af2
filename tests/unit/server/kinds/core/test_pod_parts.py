"""Containers that are added to a living pod, and resources that change in it."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pytest

from proreus.server.kinds.core.pod.subresources import EPHEMERAL_CONTAINERS, RESIZE
from tests.unit.server.kinds.creating import CONTAINER, created, errors
from tests.unit.server.validated import at_once

Json = dict[str, Any]
DEBUG = {"name": "debug", "image": "i", "terminationMessagePolicy": "File"}


def pod(**spec: Any) -> Json:
    return created("v1", "Pod", spec={"containers": [CONTAINER], **spec})


def added(old: Json, *containers: Json) -> list[str]:
    new = deepcopy(old)
    new["spec"]["ephemeralContainers"] = list(containers)
    return [str(error) for error in at_once(EPHEMERAL_CONTAINERS.validate(new, old))]


@pytest.mark.parametrize(
    ("container", "problems"),
    [
        (DEBUG, []),
        ({**DEBUG, "image": ""}, ["spec.ephemeralContainers[0].image: Required value"]),
        ({**DEBUG, "name": "c"}, ['spec.ephemeralContainers[0].name: Duplicate value: "c"']),
        (
            {**DEBUG, "targetContainerName": "x"},
            ['spec.ephemeralContainers[0].targetContainerName: Not found: "x"'],
        ),
        (
            {**DEBUG, "restartPolicy": "Always", "resources": {"requests": {"cpu": "1"}}},
            [
                "spec.ephemeralContainers[0].resources: Forbidden: cannot be set for an Ephemeral "
                "Container",
                "spec.ephemeralContainers[0].restartPolicy: Forbidden: cannot be set for an "
                "Ephemeral Container",
            ],
        ),
    ],
)
def test_containers_for_debugging(container: Json, problems: list[str]) -> None:
    assert added(pod(), container) == problems


def test_a_container_for_debugging_stays_as_it_is() -> None:
    old = pod()
    old["spec"]["ephemeralContainers"] = [DEBUG]
    at = "spec.ephemeralContainers: Forbidden: existing ephemeral containers"

    assert added(old) == [f'{at} "debug" may not be removed\n']
    assert added(old, {**DEBUG, "image": "j"}) == [f'{at} "debug" may not be changed\n']
    assert added(old, DEBUG, {**DEBUG, "name": "more"}) == []


def test_no_pod_begins_with_one() -> None:
    spec = {"containers": [CONTAINER], "ephemeralContainers": [DEBUG]}

    assert errors("v1", "Pod", spec=spec) == [
        "spec.ephemeralContainers: Forbidden: cannot be set on create"
    ]


def test_a_pod_that_must_not_be_scheduled_yet_has_no_node() -> None:
    spec = {"containers": [CONTAINER], "nodeName": "n", "schedulingGates": [{"name": "a.b/c"}]}

    assert errors("v1", "Pod", spec=spec) == [
        "spec.nodeName: Forbidden: cannot be set until all schedulingGates have been cleared"
    ]


@pytest.mark.parametrize(
    ("requests", "problems"),
    [
        ({"cpu": "2", "memory": "1Gi"}, []),
        (
            {"cpu": "1"},
            [
                "spec.containers[0].resources.requests: Forbidden: resource requests cannot be "
                "removed"
            ],
        ),
        (
            {"cpu": "1", "memory": "1Gi", "ephemeral-storage": "1Gi"},
            ["spec: Forbidden: only cpu and memory resources are mutable"],
        ),
    ],
)
def test_resizing(requests: dict[str, str], problems: list[str]) -> None:
    old = pod(containers=[{**CONTAINER, "resources": {"requests": {"cpu": "1", "memory": "1Gi"}}}])
    new = deepcopy(old)
    new["spec"]["containers"][0]["resources"]["requests"] = requests

    assert [str(error) for error in at_once(RESIZE.validate(new, old))] == problems


def test_a_size_that_cannot_be_is_all_that_is_said() -> None:
    old = pod(containers=[{**CONTAINER, "resources": {"requests": {"cpu": "1"}}}])
    new = pod(containers=[{**CONTAINER, "resources": {"requests": {"cpu": "-1"}}}])

    assert [str(error) for error in at_once(RESIZE.validate(new, old))] == [
        'spec.containers[0].resources.requests[cpu]: Invalid value: "-1": must be greater than or '
        "equal to 0"
    ]


def test_a_pod_keeps_its_class_when_it_is_resized() -> None:
    new = pod(containers=[{**CONTAINER, "resources": {"requests": {"cpu": "1"}}}])

    assert [str(error) for error in at_once(RESIZE.validate(new, pod()))] == [
        'spec: Invalid value: "BestEffort": Pod QOS Class may not change as a result of resizing'
    ]


def resized(old: dict[str, Any], change: Callable[[dict[str, Any]], None]) -> list[str]:
    """The faults of a pod that ``change`` was done to and that was sent to be resized."""
    new = deepcopy(old)
    change(new["spec"])
    RESIZE.reset(new, old)
    return [str(error) for error in at_once(RESIZE.validate(new, old))]


def sized(name: str) -> dict[str, Any]:
    return {**CONTAINER, "name": name, "resources": {"requests": {"cpu": "1"}}}


@pytest.mark.parametrize(
    ("change", "problems"),
    [
        (lambda spec: spec["containers"].append(sized("d")),
         ["spec.containers: Forbidden: containers may not be added or removed on resize"]),
        (lambda spec: spec["containers"].reverse(),
         [f"spec.containers[{index}].name: Forbidden: containers may not be renamed or reordered "
          "on resize" for index in (0, 1)]),
        (lambda spec: spec["initContainers"][0].update(name="x"),
         ["spec.initContainers[0].name: Forbidden: initContainers may not be renamed or reordered "
          "on resize"]),
        (lambda spec: spec["containers"][0].update(image="other"), []),
        (lambda spec: spec["initContainers"][0]["resources"].update(requests={"cpu": "2"}), []),
        (lambda spec: spec["initContainers"][0]["resources"].update(requests={}),
         ["spec.initContainers[0].resources.requests: Forbidden: resource requests cannot be "
          "removed"]),
        (lambda spec: spec["initContainers"][0]["resources"]["requests"].update(
            {"ephemeral-storage": "1"}),
         ["spec.initContainers[0]: Forbidden: only cpu and memory resources for init or sidecar "
          "containers are mutable"]),
        (lambda spec: spec["resources"]["requests"].update(cpu="9"), []),
        (lambda spec: spec["resources"].update(requests={"cpu": "8"}),
         ["spec.resources.requests: Forbidden: pod-level resource requests cannot be removed"]),
        (lambda spec: spec.pop("resources"),
         ["spec.resources: Forbidden: pod-level resources cannot be removed"]),
    ],
)  # fmt: skip
def test_a_resize_changes_sizes_of_containers_that_stay_the_same(
    change: Callable[[dict[str, Any]], None], problems: list[str]
) -> None:
    old = pod(
        containers=[sized("c"), sized("b")],
        initContainers=[sized("i")],
        resources={"requests": {"cpu": "8", "memory": "1Gi"}},
    )

    assert resized(old, change) == problems
