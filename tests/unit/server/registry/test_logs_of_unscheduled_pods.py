"""``pods/log`` and ``pods/proxy`` of a pod that no node runs."""

from __future__ import annotations

from tests.unit.server.registry.server_under_test import Asking


async def test_the_log_of_a_pod_without_a_node_is_no_content_of_no_type(ask: Asking) -> None:
    spec = {"containers": [{"name": "c", "image": "i"}]}
    await ask("POST", "pods", {"metadata": {"name": "p"}, "spec": spec})

    answer = await ask("GET", "pods/p/log")

    assert answer.status == 204
    assert "content-type" not in {name.lower() for name in answer.headers}


async def test_a_missing_node_is_called_what_was_asked_for(ask: Asking) -> None:
    spec = {"containers": [{"name": "c", "image": "i"}], "nodeName": "gone"}
    await ask("POST", "pods", {"metadata": {"name": "p"}, "spec": spec})

    log = await ask("GET", "pods/p/log")
    proxied = await ask("GET", "pods/p/proxy/")

    assert log.body["message"] == proxied.body["message"] == 'pods "gone" not found'


async def test_a_pod_without_an_address_is_not_proxied_to(ask: Asking) -> None:
    spec = {"containers": [{"name": "c", "image": "i"}]}
    await ask("POST", "pods", {"metadata": {"name": "p"}, "spec": spec})

    answer = await ask("GET", "pods/p:x/proxy/")

    assert (answer.status, answer.body["message"]) == (400, "address not allowed")
