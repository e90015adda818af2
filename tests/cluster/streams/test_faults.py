"""What happens to streams when an end goes away, or does not read."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from proreus.client import ApiError, Client, ConnectionLost, InternalError
from proreus.client.resources.running_command import Output
from proreus.net.websocket.keepalive import MISSED_MAX, PING_S
from proreus.testing.tcp_proxy import TcpProxy
from proreus.testing.virtual_clock import VirtualClock
from tests.cluster.streams.conftest import Stage, staged
from tests.cluster.streams.test_port_forward import Web, web  # noqa: F401

PATIENCE_S = 60
SLEEP = ["sh", "-c", "echo up; sleep 600"]


@pytest_asyncio.fixture
async def to_kubelet(stage: Stage) -> AsyncIterator[TcpProxy]:
    """Between the API server and the kubelet."""
    async with TcpProxy("127.0.0.1", stage.kubelet.port) as proxy:
        await stage.point_node_to(proxy.port)
        yield proxy


@pytest_asyncio.fixture
async def to_server(stage: Stage) -> AsyncIterator[TcpProxy]:
    """Between a client and the API server."""
    port = int(stage.server.url.rpartition(":")[2])
    async with TcpProxy("127.0.0.1", port) as proxy:
        yield proxy


def through(proxy: TcpProxy, stage: Stage) -> Client:
    import dataclasses

    config = stage.server.config()
    return Client(dataclasses.replace(config, host=f"https://127.0.0.1:{proxy.port}"))


async def test_a_followed_log_breaks_off_with_its_kubelet(
    stage: Stage, to_kubelet: TcpProxy
) -> None:
    """It must not look like the log's end."""
    log = stage.streams.log((await stage.pod()).uid)
    await log.write("one")

    async with stage.client.core_v1.pods("default").follow_logs("web") as lines:
        assert await anext(lines) == "one"
        to_kubelet.cut()

        with pytest.raises(ConnectionLost):
            async with asyncio.timeout(PATIENCE_S):
                await anext(lines)


async def test_a_command_whose_kubelet_is_gone_ends_with_an_error(
    stage: Stage, to_kubelet: TcpProxy
) -> None:
    await stage.pod()

    async with stage.client.core_v1.pods("default").command("web", SLEEP) as running:
        output = aiter(running)
        await anext(output)
        to_kubelet.cut()

        with pytest.raises(InternalError):
            async with asyncio.timeout(PATIENCE_S):
                await anext(output)

    async with asyncio.timeout(PATIENCE_S):
        await stage.streams.processes[0].process.wait()


async def test_a_forwarded_port_closes_with_its_kubelet(
    stage: Stage,
    to_kubelet: TcpProxy,
    web: Web,  # noqa: F811
) -> None:
    await stage.pod()

    async with stage.client.core_v1.pods("default").port_forward("web", web.port) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"GET / HTTP/1.1\r\n\r\n")
        await reader.readexactly(1000)
        to_kubelet.cut()

        async with asyncio.timeout(PATIENCE_S):
            assert len(await reader.read()) < 2_000_000
        writer.close()


@pytest.mark.parametrize("how", ["cut", "close", "half_open"])
async def test_a_command_ends_when_its_client_is_gone(
    stage: Stage, to_server: TcpProxy, how: str
) -> None:
    await stage.pod()

    async with (
        through(to_server, stage) as client,
        client.core_v1.pods("default").command("web", SLEEP) as running,
    ):
        await anext(aiter(running))
        getattr(to_server, how)()

        async with asyncio.timeout(PATIENCE_S):
            await stage.streams.processes[0].process.wait()
        to_server.cut()
    assert stage.streams.processes[0].is_closed


@pytest.mark.parametrize("how", ["cut", "close", "half_open"])
async def test_a_log_is_let_go_when_its_reader_is_gone(
    stage: Stage, to_server: TcpProxy, how: str
) -> None:
    log = stage.streams.log((await stage.pod()).uid)
    await log.write("one")

    async with (
        through(to_server, stage) as client,
        client.core_v1.pods("default").follow_logs("web") as lines,
    ):
        await anext(lines)
        getattr(to_server, how)()

        async with asyncio.timeout(PATIENCE_S):
            await log.unfollowed.wait()
        to_server.cut()


async def test_a_slow_reader_holds_up_its_own_log_and_nothing_else(
    stage: Stage, to_server: TcpProxy
) -> None:
    """Neither the API server nor the kubelet keeps what nobody reads."""
    log = stage.streams.log((await stage.pod()).uid)
    await log.write(*["x" * 99_999] * 1000)
    await log.end()

    async with (
        through(to_server, stage) as client,
        client.core_v1.pods("default").follow_logs("web") as lines,
    ):
        await anext(lines)
        to_server.black_hole()
        for _ in range(200):
            await stage.client.core_v1.pods("default").get("web")
        # What the kernel takes for four sockets, and a few buffers of ours.
        assert log.taken < 50_000_000
        to_server.restore()
        async with asyncio.timeout(60):
            rest = [line async for line in lines]

    assert len(rest) == 999


async def test_a_server_that_ends_does_not_wait_for_streams(stage: Stage) -> None:
    log = stage.streams.log((await stage.pod()).uid)
    await log.write("one")

    async with stage.client.core_v1.pods("default").follow_logs("web") as lines:
        await anext(lines)
        stage.server.api.begin_shutdown()

        async with asyncio.timeout(PATIENCE_S):
            await log.unfollowed.wait()


async def test_a_kubelet_that_falls_silent_is_given_up(tmp_path: Path) -> None:
    """Half-open: its machine is gone and nobody has said so."""
    clock = VirtualClock(time.time())
    async with staged(tmp_path, clock) as stage:
        await stage.pod()
        async with TcpProxy("127.0.0.1", stage.kubelet.port) as proxy:
            await stage.point_node_to(proxy.port)
            pods = stage.client.core_v1.pods("default")
            async with pods.command("web", SLEEP) as running:
                output = aiter(running)
                await anext(output)
                await clock.advance(2 * MISSED_MAX * PING_S)  # an idle one is not a silent one
                proxy.half_open()

                with pytest.raises(InternalError, match="silent"):
                    await next_while_time_passes(output, clock)
            proxy.restore()


async def test_a_kubelet_that_listens_and_says_nothing_is_given_up(tmp_path: Path) -> None:
    clock = VirtualClock(time.time())
    async with staged(tmp_path, clock) as stage:
        await stage.pod()
        async with TcpProxy("127.0.0.1", stage.kubelet.port) as proxy:
            await stage.point_node_to(proxy.port)
            proxy.black_hole()
            asking = asyncio.ensure_future(stage.client.core_v1.pods("default").logs("web"))
            async with asyncio.timeout(PATIENCE_S):
                while not asking.done():
                    await clock.advance(1)

            with pytest.raises(ApiError, match="timeout awaiting response headers"):
                await asking


async def next_while_time_passes(output: AsyncIterator[Output], clock: VirtualClock) -> Output:
    following = asyncio.ensure_future(anext(output))
    async with asyncio.timeout(PATIENCE_S):
        while not following.done():
            await clock.advance(PING_S)
    return following.result()
