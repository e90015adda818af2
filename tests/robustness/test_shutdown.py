"""The end of a server: clients learn of it at once, what was begun is finished, nothing hangs."""

from __future__ import annotations

import asyncio
import json
from contextlib import AsyncExitStack

import pytest

from proreus.server.app import ApiServer
from proreus.server.config import ServerConfig
from tests.ports import reserved_port
from tests.robustness.wire import (
    CONFIG_MAPS,
    ask,
    config_map,
    connected,
    until,
)

SENDING = 'apiserver_current_inqueue_requests{request_kind="mutating"}'
WATCHING = "apiserver_longrunning_requests"


async def test_an_ending_server_is_not_ready_ends_watches_and_refuses_new_work(
    server: ApiServer,
) -> None:
    async with AsyncExitStack() as opened:
        watching, kept, writing, starting, probing, alive = [
            await opened.enter_async_context(connected(server)) for _ in range(6)
        ]
        await watching.send(watching.head("GET", f"{CONFIG_MAPS}?watch=1"))
        assert (await watching.answer_head())[0] == 200
        for each in (kept, writing, starting, probing, alive):
            assert (await each.ask("GET", CONFIG_MAPS)).code == 200

        server.begin_shutdown()

        assert [chunk async for chunk in watching.chunks()] == []
        refused = await kept.ask("GET", CONFIG_MAPS)
        assert (refused.code, refused.reason) == (503, "ServiceUnavailable")
        assert refused.headers["retry-after"] == "1"
        assert refused.message == "apiserver is shutting down"
        assert refused.headers["connection"] == "close"
        assert (await writing.ask("POST", CONFIG_MAPS, config_map("a"))).code == 503
        assert (await starting.ask("GET", f"{CONFIG_MAPS}?watch=1")).code == 503
        ready = await probing.ask("GET", "/readyz")
        assert ready.code == 500
        assert b"[-]shutdown failed" in ready.body
        assert (await alive.ask("GET", "/livez")).code == 200
        with pytest.raises(ConnectionRefusedError):
            await ask(server, "GET", "/readyz")


async def test_a_server_ends_with_hundreds_of_watches_open() -> None:
    async with AsyncExitStack() as opened:
        server = ApiServer(ServerConfig())
        async with server:
            watchers = [await opened.enter_async_context(connected(server)) for _ in range(200)]
            for watcher in watchers:
                await watcher.send(watcher.head("GET", f"{CONFIG_MAPS}?watch=1"))
                assert (await watcher.answer_head())[0] == 200
            await ask(server, "POST", CONFIG_MAPS, config_map("last"))

        for watcher in watchers:
            (event,) = [json.loads(chunk) async for chunk in watcher.chunks()]
            assert event["object"]["metadata"]["name"] == "last"
            assert await watcher.rest() == b""


async def test_a_websocket_watch_ends_with_the_server() -> None:
    async with AsyncExitStack() as opened:
        async with ApiServer(ServerConfig()) as server:
            socket = await opened.enter_async_context(connected(server))
            headers = {
                "Connection": "Upgrade",
                "Upgrade": "websocket",
                "Sec-WebSocket-Version": "13",
                "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
                "Origin": "http://localhost",
            }
            answer = await socket.ask("GET", f"{CONFIG_MAPS}?watch=1", None, headers.items())
            assert answer.code == 101
        assert (await socket.rest())[:1] in (b"\x88", b"")


async def test_a_request_in_progress_is_finished_before_the_end() -> None:
    server = ApiServer(ServerConfig(shutdown_grace_s=60))
    async with AsyncExitStack() as opened:
        async with server:
            connection = await opened.enter_async_context(connected(server))
            body = config_map("a")
            length = ("Content-Length", str(len(body)))
            await connection.send(connection.head("POST", CONFIG_MAPS, [length]) + body[:-1])
            await until(server, SENDING, 1)
            await connection.send(body[-1:])
        assert (await connection.answer()).code == 201


async def test_a_request_that_never_ends_is_dropped_after_the_grace() -> None:
    server = ApiServer(ServerConfig(shutdown_grace_s=0.05))
    async with AsyncExitStack() as opened:
        # By itself it would be given up after 34 seconds.
        async with asyncio.timeout(30), server:
            connection = await opened.enter_async_context(connected(server))
            await connection.send(connection.head("POST", CONFIG_MAPS, [("Content-Length", "9")]))
            await until(server, SENDING, 1)
        assert b" 201 " not in await connection.rest()


async def test_after_the_end_nobody_listens() -> None:
    with reserved_port() as port:
        async with ApiServer(ServerConfig(port=port)) as server:
            pass

        with pytest.raises(ConnectionRefusedError):
            await ask(server, "GET", "/readyz")
