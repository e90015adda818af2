"""``pods/log`` of a pod that no node runs."""

from __future__ import annotations

from tests.unit.server.registry.server_under_test import Asking


async def test_the_log_of_a_pod_without_a_node_is_no_content_of_no_type(ask: Asking) -> None:
    spec = {"containers": [{"name": "c", "image": "i"}]}
    await ask("POST", "pods", {"metadata": {"name": "p"}, "spec": spec})

    answer = await ask("GET", "pods/p/log")

    assert answer.status == 204
    assert "content-type" not in {name.lower() for name in answer.headers}
