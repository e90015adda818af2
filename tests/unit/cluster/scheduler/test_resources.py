"""What a pod asks for."""

from __future__ import annotations

from typing import Any

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
