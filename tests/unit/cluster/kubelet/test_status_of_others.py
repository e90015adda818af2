"""What others write of a pod is told from what its kubelet writes."""

from __future__ import annotations

from typing import Any

import pytest

from proreus.api.object import KubeObject
from proreus.cluster.kubelet.status import others_part

READY = {"type": "Ready", "status": "True"}


def pod(phase: str, *conditions: dict[str, str], **metadata: Any) -> KubeObject:
    metadata = {"name": "a", "uid": "u", "generation": 1, **metadata}
    status = {"phase": phase, "conditions": list(conditions)}
    return KubeObject.from_dict({"kind": "Pod", "metadata": metadata, "status": status})


def test_what_the_kubelet_writes_itself_is_no_news() -> None:
    assert others_part(pod("Pending")) == others_part(pod("Running", READY))


@pytest.mark.parametrize(
    "changed",
    [
        pod("Pending", {"type": "example.com/gate", "status": "True"}),
        pod("Pending", generation=2),
        pod("Pending", labels={"a": "b"}),
        pod("Pending", annotations={"a": "b"}),
        pod("Pending", finalizers=["example.com/f"]),
        pod("Pending", deletionTimestamp="2026-01-01T00:00:00Z", deletionGracePeriodSeconds=30),
    ],
)
def test_what_others_write_is_news(changed: KubeObject) -> None:
    assert others_part(pod("Pending")) != others_part(changed)


def test_without_generations_another_spec_is_news() -> None:
    def uncounted(image: str) -> KubeObject:
        spec = {"containers": [{"name": "main", "image": image}]}
        return KubeObject.from_dict({"kind": "Pod", "metadata": {"name": "a"}, "spec": spec})

    assert others_part(uncounted("web:1")) == others_part(uncounted("web:1"))
    assert others_part(uncounted("web:1")) != others_part(uncounted("web:2"))
