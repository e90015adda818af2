"""What one server acknowledged, another one reads at once, whoever of them was just restarted.

``PROREUS_TEST_FULL=1`` does it 10,000 times.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar

from proreus.aio.tasks import background
from proreus.client import ApiError, AuthSettings, Client, ClientConfig, TransportError
from proreus.server.app import ApiServer
from proreus.server.config import ServerConfig
from proreus.server.credentials import ADMIN_USER
from tests.ports import reserved_ports
from tests.real_etcd import running_etcd

IS_FULL = "PROREUS_TEST_FULL" in os.environ
ROUNDS = 10_000 if IS_FULL else 1_500
RESTARTED_EVERY = 300  # rounds
TOKEN = "everybody-knows"
T = TypeVar("T")


@dataclass(slots=True)
class Restarted:
    """A server that is stopped and started again where it was."""

    config: ServerConfig
    restarts: int = 0
    _running: contextlib.AsyncExitStack = field(default_factory=contextlib.AsyncExitStack)

    async def start(self) -> None:
        await self._running.enter_async_context(ApiServer(self.config))

    async def stop(self) -> None:
        await self._running.aclose()

    async def restart(self) -> None:
        await self.stop()
        await self.start()
        self.restarts += 1


@contextlib.asynccontextmanager
async def two_servers() -> AsyncIterator[list[Restarted]]:
    async with running_etcd() as etcd, contextlib.AsyncExitStack() as ending:
        ports = ending.enter_context(reserved_ports(2))
        servers = []
        for port in ports:
            config = ServerConfig(etcd=tuple(etcd.endpoints), port=port, tokens={TOKEN: ADMIN_USER})
            servers.append(Restarted(config))
            await servers[-1].start()
            ending.push_async_callback(servers[-1].stop)
        yield servers


async def done(ask: Callable[[], Awaitable[T]]) -> T:
    """Once the server is back: one that is being restarted refuses, or breaks off."""
    async with asyncio.timeout(60):
        while True:
            try:
                return await ask()
            except (ApiError, TransportError):
                await asyncio.sleep(0.01)


async def test_a_write_at_one_server_is_read_at_once_at_the_other() -> None:
    """Guarantee: linearizable"""
    chance = random.Random(20)
    async with contextlib.AsyncExitStack() as opened:
        servers = await opened.enter_async_context(two_servers())
        auth = AuthSettings(token=TOKEN, over_loopback_http=True)
        clients = []
        for server in servers:
            url = f"http://127.0.0.1:{server.config.port}"
            config = ClientConfig(host=url, auth=auth, rate_limit=None)
            clients.append(await opened.enter_async_context(Client(config)))
        maps = [client.core_v1.configmaps("default") for client in clients]
        await maps[0].create({"metadata": {"name": "counted"}, "data": {"number": "-1"}})
        wanted = asyncio.Event()

        async def restart_at_random() -> None:
            while True:
                await wanted.wait()
                wanted.clear()
                await chance.choice(servers).restart()

        async with background(restart_at_random()):
            for number in range(ROUNDS):
                if number % RESTARTED_EVERY == RESTARTED_EVERY // 2:
                    wanted.set()  # beside what follows
                at = chance.randrange(2)
                writer, reader = maps[at], maps[1 - at]
                change = {"data": {"number": str(number)}}
                await done(partial(writer.patch, "counted", change))
                if number % 2:
                    found = await done(partial(reader.get, "counted"))
                else:
                    select = "metadata.name=counted"
                    (found,) = await done(partial(reader.list, field_selector=select))

                assert found["data"]["number"] == str(number)

    assert sum(server.restarts for server in servers) >= ROUNDS // RESTARTED_EVERY - 1
