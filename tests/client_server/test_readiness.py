"""When a server says that it is ready."""

from __future__ import annotations

import asyncio

import httpx
from structlog.testing import capture_logs

from proreus.server.app import ApiServer
from tests.hurried_clock import HurriedClock


async def test_who_has_waited_for_a_server_finds_it_ready() -> None:
    async with ApiServer() as server:
        await server.wait_ready()

        assert server.parts.health.failing("readyz") == []
        async with httpx.AsyncClient(timeout=60) as client:
            assert (await client.get(f"{server.url}/readyz")).text == "ok"


async def test_a_server_that_does_not_become_ready_is_waited_for_ten_seconds_and_says_why() -> None:
    clock = HurriedClock(100)
    async with ApiServer(clock=clock) as server:
        while server.parts.health.failing("readyz"):  # noqa: ASYNC110  # a start takes what it takes
            await asyncio.sleep(0)
        server.begin_shutdown()
        begun_s = clock.monotonic()

        with capture_logs() as logs:
            await server.wait_ready()

        assert clock.monotonic() - begun_s >= 10
        assert [line["failing"] for line in logs if "not ready" in line["event"]] == [["shutdown"]]
