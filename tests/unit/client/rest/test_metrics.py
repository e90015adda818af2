"""A client's requests are counted under Kubernetes' names."""

from __future__ import annotations

import pytest
from prometheus_client import CollectorRegistry

from proreus.client import ClientConfig, NotFound, TransportError
from proreus.client.rest.client import RestClient
from proreus.client.rest.metrics import RestMetrics
from proreus.client.rest.request import RestRequest
from proreus.client.rest.retry import Mode
from tests.unit.client.scripted_server import HastyClock, ScriptedServer, answer, reset

GET = RestRequest("list", "GET", "/x")


async def test_every_attempt_is_counted() -> None:
    registry = CollectorRegistry()
    steps = [answer(429, Retry_After="1"), answer(200), answer(404), reset(), reset(), answer(200)]
    async with ScriptedServer(steps).running() as server:
        metrics = RestMetrics("h", registry)
        config = ClientConfig(server.url)
        async with RestClient(config, clock=HastyClock(), observer=metrics) as rest:
            await rest.send(GET)
            with pytest.raises(NotFound):
                await rest.send(GET)
            with pytest.raises(TransportError):
                await rest.send(RestRequest("create", "POST", "/x", body=b""))
            async with rest.open_stream(GET, Mode.WATCH):
                pass

    def count(code: str, method: str = "GET") -> float | None:
        labels = {"code": code, "method": method, "host": "h"}
        return registry.get_sample_value("rest_client_requests_total", labels)

    assert (count("429"), count("200"), count("404")) == (1, 2, 1)
    assert (count("<error>", "POST"), count("<error>")) == (1, 1)
    durations = {"verb": "list", "host": "h"}
    assert registry.get_sample_value("rest_client_request_duration_seconds_count", durations) == 5
    waits = registry.get_sample_value(
        "rest_client_rate_limiter_duration_seconds_count", {"host": "h"}
    )
    assert waits is not None and waits >= 3
