"""The proxy really does to connections what its verbs say."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from proreus.testing.tcp_proxy import TcpProxy

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@asynccontextmanager
async def echo_behind_proxy() -> AsyncIterator[TcpProxy]:
    echoing: set[asyncio.Task[None]] = set()

    async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        echoing.add(task)
        try:
            while data := await reader.read(1024):
                writer.write(data)
                await writer.drain()
        except OSError:
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(echo, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with server, TcpProxy("127.0.0.1", port) as proxy:
        yield proxy
    await asyncio.gather(*echoing)  # each ends when the proxy's end has arrived


@asynccontextmanager
async def connected(proxy: TcpProxy) -> AsyncIterator[Streams]:
    reader, writer = await asyncio.open_connection(proxy.host, proxy.port)
    writer.write(b"hello")
    assert await reader.readexactly(5) == b"hello"
    try:
        yield reader, writer
    finally:
        writer.transport.abort()


async def is_silent(reader: asyncio.StreamReader) -> bool:
    try:
        await asyncio.wait_for(reader.read(1), 0.05)
    except TimeoutError:
        return True
    return False


async def test_bytes_pass_both_ways_and_an_end_passes_too() -> None:
    async with echo_behind_proxy() as proxy, connected(proxy) as (reader, writer):
        assert (proxy.accepted, proxy.open_connections) == (1, 1)

        writer.write_eof()

        assert await reader.read() == b""


async def test_a_cut_resets_the_connection() -> None:
    async with echo_behind_proxy() as proxy, connected(proxy) as (reader, _):
        proxy.cut()

        with pytest.raises(ConnectionResetError):
            await reader.read(1)


async def test_close_ends_in_good_order() -> None:
    async with echo_behind_proxy() as proxy, connected(proxy) as (reader, _):
        proxy.close()

        assert await reader.read() == b""


async def test_a_cut_can_wait_for_a_number_of_bytes() -> None:
    async with echo_behind_proxy() as proxy, connected(proxy) as (reader, writer):
        proxy.cut_after(3)
        writer.write(b"abcdef")

        with pytest.raises((ConnectionResetError, asyncio.IncompleteReadError)):
            await reader.readexactly(6)


async def test_a_black_hole_is_silent_and_lets_all_through_afterwards() -> None:
    async with echo_behind_proxy() as proxy, connected(proxy) as (reader, writer):
        proxy.black_hole()
        writer.write(b"lost?")
        assert await is_silent(reader)

        proxy.restore()

        assert await reader.readexactly(5) == b"lost?"


async def test_half_open_is_silent_for_ever() -> None:
    async with echo_behind_proxy() as proxy, connected(proxy) as (reader, writer):
        proxy.half_open()
        writer.write(b"anyone")

        assert await is_silent(reader)


async def test_garbage_arrives_unasked() -> None:
    async with echo_behind_proxy() as proxy, connected(proxy) as (reader, _):
        proxy.garbage(b"noise")

        assert await reader.readexactly(5) == b"noise"


async def test_slow_bytes_all_arrive() -> None:
    async with echo_behind_proxy() as proxy, connected(proxy) as (reader, writer):
        proxy.slow(20_000)
        writer.write(b"x" * 2000)

        assert await reader.readexactly(2000) == b"x" * 2000


async def test_refusing_and_listening_again_keeps_the_port() -> None:
    async with echo_behind_proxy() as proxy:
        await proxy.refuse()
        with pytest.raises(ConnectionRefusedError):
            await asyncio.open_connection(proxy.host, proxy.port)

        await proxy.listen()

        async with connected(proxy):
            assert proxy.open_connections == 1


async def test_a_server_that_is_gone_resets_the_client() -> None:
    async with TcpProxy("127.0.0.1", 1) as proxy:
        reader, writer = await asyncio.open_connection(proxy.host, proxy.port)

        with pytest.raises(ConnectionResetError):
            await reader.read(1)
        writer.close()
        assert "0 open" in repr(proxy)
