"""What a pod asks for."""

from __future__ import annotations

from typing import Any

import pytest

from proreus.cluster.scheduler import resources


def container(cpu: str, **fields: Any) -> dict[str, Any]:
    return {"name": "c", "resources": {"requests": {"cpu": cpu}}, **fields}


def test_containers_add_up() -> None:
    spec = {"containers": [container("100m"), container("1.5")]}

    assert resources.requests_of(spec) == {"cpu": 1600}


def test_the_neediest_init_container_counts_when_it_needs_more() -> None:
    spec = {"containers": [container("100m")], "initContainers": [container("2"), container("1")]}

    assert resources.requests_of(spec) == {"cpu": 2000}


def test_a_sidecar_counts_beside_the_containers_and_later_init_containers() -> None:
    sidecar = container("1", restartPolicy="Always")
    spec = {"containers": [container("1")], "initContainers": [sidecar, container("2")]}

    assert resources.requests_of(spec) == {"cpu": 3000}


def test_a_limit_stands_for_a_missing_request_and_overhead_is_added() -> None:
    spec = {
        "containers": [{"name": "c", "resources": {"limits": {"memory": "1Ki"}}}],
        "overhead": {"memory": "24"},
    }

    assert resources.requests_of(spec) == {"memory": 1048}


def test_what_a_pod_requests_as_a_whole_counts_instead_of_its_containers() -> None:
    whole = {"requests": {"cpu": "3", "memory": "1Ki"}, "limits": {"hugepages-2Mi": "2Mi"}}
    spec = {
        "containers": [container("4"), {"name": "d", "resources": {"requests": {"a.b/c": "2"}}}],
        "resources": whole,
        "overhead": {"cpu": "1"},
    }

    expected = {"cpu": 4000, "memory": 1024, "hugepages-2Mi": 2 * 1024 * 1024, "a.b/c": 2}
    assert resources.requests_of(spec) == expected


@pytest.mark.parametrize(
    ("asked", "has", "given", "reason", "expected"),
    [
        ("2", "1", "1", "", 2000),  # it may get it at any moment
        ("2", "1", "1", "Deferred", 2000),
        ("9", "1", "1", "Infeasible", 1000),  # it will not get it
        ("1", "3", "1", "", 3000),  # it has not given it back yet
        ("1", "1", "2", "", 2000),
    ],
)
def test_a_pod_that_is_resized_counts_with_the_most_it_has_or_may_get(
    asked: str, has: str, given: str, reason: str, expected: int
) -> None:
    status = {
        "containerStatuses": [
            {
                "name": "c",
                "resources": {"requests": {"cpu": has}},
                "allocatedResources": {"cpu": given},
            }
        ],
        "conditions": [{"type": "PodResizePending", "reason": reason}] if reason else [],
    }

    assert resources.requests_of({"containers": [container(asked)]}, status) == {"cpu": expected}


def test_a_container_that_has_not_begun_counts_with_what_it_asks_for() -> None:
    status = {"containerStatuses": [{"name": "c"}, {"name": "d", "resources": {}}]}
    spec = {"containers": [container("1"), {**container("2"), "name": "d"}]}

    assert resources.requests_of(spec, status) == {"cpu": 3000}
