"""What is sent again, when, and what is not: the rules of Kubernetes' clients."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator

import pytest

from proreus.api.status import (
    ApiError,
    InternalError,
    ServiceUnavailable,
    TooManyRequests,
)
from proreus.client.client_config import ClientConfig, RateLimit
from proreus.client.rest.client import RestClient
from proreus.client.rest.request import RestRequest
from proreus.client.rest.retry import Mode, RetryPolicy
from proreus.net.client.transport_error import (
    ConnectionLost,
    ConnectionRefused,
    ProtocolError,
    TransportError,
    TransportTimeout,
)
from proreus.testing.virtual_clock import VirtualClock
from tests.ports import dead_port
from tests.unit.client.scripted_server import (
    HastyClock,
    ScriptedServer,
    Step,
    answer,
    hang,
    reset,
    stream,
)

GET = RestRequest("get", "GET", "/api/v1/namespaces/a/pods/b")
POD = {"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "b"}}


@contextlib.asynccontextmanager
async def against(
    *steps: Step, repeats: bool = False, clock: VirtualClock | None = None, **config: object
) -> AsyncIterator[tuple[RestClient, ScriptedServer]]:
    async with ScriptedServer(list(steps), repeats=repeats).running() as server:
        settings = ClientConfig(server.url, **{"rate_limit": None, **config})  # type: ignore[arg-type]
        async with RestClient(settings, clock=clock or HastyClock()) as rest:
            yield rest, server


def slept(rest: RestClient) -> list[float]:
    assert isinstance(rest.clock, HastyClock)
    return rest.clock.slept


async def test_an_error_without_retry_after_surfaces_after_one_request() -> None:
    async with against(answer(503)) as (rest, server):
        with pytest.raises(ServiceUnavailable):
            await rest.get_object(GET)

        assert len(server.requests) == 1


async def test_429_with_retry_after_is_repeated_for_any_verb() -> None:
    post = RestRequest("create", "POST", "/api/v1/namespaces/a/pods", body=b"{}")
    async with against(answer(429, Retry_After="1"), answer(201, POD)) as (rest, server):
        assert (await rest.get_object(post)).name == "b"

        assert [one.body for one in server.requests] == [b"{}", b"{}"]
        assert slept(rest) == [1.0]


async def test_after_ten_repetitions_the_answer_is_taken_as_it_is() -> None:
    step = answer(429, b"busy", "text/plain", Retry_After="1")
    async with against(step, repeats=True) as (rest, server):
        with pytest.raises(TooManyRequests, match="busy") as caught:
            await rest.get_object(GET)

        assert len(server.requests) == 11
        assert slept(rest) == [1.0] * 10
        assert caught.value.retry_after_s == 1


@pytest.mark.parametrize("date", ["Wed, 21 Oct 2026 07:28:00 GMT", "-1", "1.5", ""])
async def test_a_retry_after_that_is_no_number_of_seconds_is_not_acted_on(date: str) -> None:
    async with against(answer(503, Retry_After=date)) as (rest, server):
        with pytest.raises(ServiceUnavailable):
            await rest.get_object(GET)

        assert len(server.requests) == 1


async def test_a_4xx_with_retry_after_is_not_repeated() -> None:
    async with against(answer(404, Retry_After="1")) as (rest, server):
        with pytest.raises(ApiError):
            await rest.get_object(GET)

        assert len(server.requests) == 1


async def test_a_reset_connection_is_repeated_for_a_get_after_a_second() -> None:
    async with against(reset(), answer(200, POD)) as (rest, server):
        assert (await rest.get_object(GET)).name == "b"

        assert len(server.requests) == 2
        assert slept(rest) == [1.0]


async def test_a_reset_connection_surfaces_for_a_put() -> None:
    put = RestRequest("update", "PUT", "/api/v1/namespaces/a/pods/b", body=b"{}")
    async with against(reset()) as (rest, server):
        with pytest.raises(ConnectionLost):
            await rest.get_object(put)

        assert len(server.requests) == 1


async def test_an_answer_cut_in_the_middle_is_repeated_for_a_get() -> None:
    async with against(stream([b'{"kind"'], then="reset"), answer(200, POD)) as (rest, server):
        assert (await rest.get_object(GET)).name == "b"
        assert len(server.requests) == 2


async def test_nobody_there_surfaces_at_once() -> None:
    with dead_port() as port:
        nowhere = ClientConfig(f"http://127.0.0.1:{port}")
        async with RestClient(nowhere, clock=HastyClock()) as rest:
            with pytest.raises(ConnectionRefused, match="connection refused"):
                await rest.get_object(GET)
            assert slept(rest) == []


async def test_what_is_not_http_is_a_protocol_error() -> None:
    async def garbage(_: object, connection: object) -> None:
        await connection.send(b"\x00\x01 not http\r\n\r\n")  # type: ignore[attr-defined]

    async with against(garbage) as (rest, _):
        with pytest.raises(ProtocolError):
            await rest.get_object(GET)


async def test_a_request_without_answer_ends_at_its_deadline() -> None:
    clock = VirtualClock()
    async with against(hang(), clock=clock, timeout_s=30.0) as (rest, server):
        async with asyncio.TaskGroup() as tasks:
            call = tasks.create_task(_outcome(rest))
            await server.wait_requests(1)
            await clock.advance(29)
            assert not call.done()
            await clock.advance(1)
            found = await call

        assert isinstance(found, TransportTimeout)
        assert "no answer in 30 s" in str(found)


async def _outcome(rest: RestClient) -> TransportError | None:
    try:
        await rest.get_object(GET)
    except TransportError as error:
        return error
    return None


async def test_requests_wait_for_the_rate_limit_and_retries_too() -> None:
    limit = RateLimit(per_second=1.0, burst=1)
    steps = [answer(200, POD), answer(429, Retry_After="1"), answer(200, POD)]
    async with against(*steps, rate_limit=limit) as (rest, _):
        await rest.get_object(GET)
        await rest.get_object(GET)

        # one second for its own token, one as the server asked, and that earned the next token
        assert slept(rest) == [1.0, 1.0]


async def test_a_watch_opens_without_waiting_for_the_rate_limit_but_repeats_with_it() -> None:
    limit = RateLimit(per_second=0.1, burst=1)
    steps = [answer(200, POD), answer(200), answer(429, Retry_After="1"), answer(200)]
    async with against(*steps, rate_limit=limit) as (rest, _):
        await rest.get_object(GET)
        async with rest.open_stream(GET, Mode.WATCH):
            assert slept(rest) == []
        async with rest.open_stream(GET, Mode.WATCH):
            assert slept(rest) == [1.0, 9.0]


async def test_retries_can_be_off() -> None:
    async with against(answer(503, Retry_After="1")) as (rest, server):
        once = RestClient(rest.config, clock=HastyClock(), retry=RetryPolicy(retries_max=0))
        async with once:
            with pytest.raises(ServiceUnavailable):
                await once.get_object(GET)
        assert len(server.requests) == 1


async def test_a_stream_is_not_repeated_after_a_broken_connection() -> None:
    async with against(reset()) as (rest, server):
        with pytest.raises(ConnectionLost):
            async with rest.open_stream(GET, Mode.STREAM):
                pass
        assert len(server.requests) == 1


async def test_opening_a_stream_raises_what_the_server_says() -> None:
    gone = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "InternalError"}
    async with against(answer(500, gone)) as (rest, _):
        with pytest.raises(InternalError) as caught:
            async with rest.open_stream(GET, Mode.WATCH):
                pass
        assert caught.value.status["code"] == 500
