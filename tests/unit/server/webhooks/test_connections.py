"""Calls to a webhook, and how they are counted."""

from __future__ import annotations

import ssl

import pytest

from proreus.net.client.connectors import Route
from proreus.net.client.transport_error import TransportError
from proreus.server.webhooks.connections import WebhookConnections
from proreus.server.webhooks.sent_requests import SENT
from tests.https_server import HttpsServer


def sent_to(host: str) -> dict[str, float]:
    (family,) = SENT.collect()
    return {
        sample.labels["code"]: sample.value
        for sample in family.samples
        if sample.labels["host"] == host and sample.labels["method"] == "POST"
    }


async def test_calls_are_counted_by_their_answers() -> None:
    async with HttpsServer().running() as server:
        server.pages["/known"] = b"{}"
        trusting = ssl.create_default_context(cadata=server.authority)
        connections = WebhookConnections(lambda: Route(ssl=trusting))
        for path in ("/known", "/known", "/unknown"):
            await connections.post(f"{server.url}{path}", {}, b"{}")
        host = server.url.removeprefix("https://")
        distrusting = WebhookConnections(lambda: Route(ssl=ssl.create_default_context()))
        with pytest.raises(TransportError):
            await distrusting.post(f"{server.url}/known", {}, b"{}")
        await connections.close()
        await distrusting.close()

    assert sent_to(host) == {"200": 2, "404": 1, "<error>": 1}


async def test_calls_to_a_service_are_counted_under_its_name() -> None:
    async with HttpsServer().running() as server:
        server.pages["/known"] = b"{}"
        trusting = ssl.create_default_context(cadata=server.authority)
        connections = WebhookConnections(lambda: Route(ssl=trusting))
        await connections.post(f"{server.url}/known", {"Host": "counted.default.svc:443"}, b"{}")
        await connections.close()

    assert sent_to("counted.default.svc:443") == {"200": 1}
    assert sent_to(server.url.removeprefix("https://")) == {}
