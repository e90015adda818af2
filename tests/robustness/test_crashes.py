"""Restarts and crashes: what was acknowledged is there, what was refused is not."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
import threading
from pathlib import Path

from proreus.server.app import ApiServer
from proreus.server.config import ServerConfig
from tests.robustness.wire import CONFIG_MAPS, Connection, ask, config_map, connected, names
from tests.running_server import RunningServer, running_server

WRITERS = 8
KILL_AFTER = 300


async def test_a_restart_finds_every_object_and_the_same_credentials(tmp_path: Path) -> None:
    config = ServerConfig(data_dir=tmp_path / "data")
    async with ApiServer(config) as first:
        for number in range(20):
            await ask(first, "POST", CONFIG_MAPS, config_map(f"a{number:02}", x="y"))
        await ask(first, "DELETE", f"{CONFIG_MAPS}/a00")
        await ask(first, "POST", CONFIG_MAPS, config_map("BAD"))
        before = (await ask(first, "GET", CONFIG_MAPS)).json
        token = first.token

    async with ApiServer(config) as second:
        after = (await ask(second, "GET", CONFIG_MAPS)).json
        assert second.token == token
        assert after["items"] == before["items"]
        assert len(after["items"]) == 19
        created = await ask(second, "POST", CONFIG_MAPS, config_map("new"))
        revision = int(created.json["metadata"]["resourceVersion"])
        assert revision > int(before["metadata"]["resourceVersion"])


async def write(
    server: RunningServer, writer: int, acknowledged: list[str], enough: threading.Event
) -> None:
    """Create until the connection breaks, which may be before it is made."""
    tls = ssl.create_default_context(cafile=str(server.ca_file))
    with contextlib.suppress(ConnectionError, ssl.SSLError):
        async with connected(server, tls) as connection:
            await create(connection, writer, acknowledged, enough)


async def create(
    connection: Connection, writer: int, acknowledged: list[str], enough: threading.Event
) -> None:
    for number in range(100_000):
        name = f"w{writer}-{number:06}"
        answer = await connection.ask("POST", CONFIG_MAPS, config_map(name, x="y" * 200))
        assert answer.code == 201, answer
        acknowledged.append(name)
        if len(acknowledged) >= KILL_AFTER:
            enough.set()


async def test_a_killed_server_has_every_create_it_acknowledged(tmp_path: Path) -> None:
    """Guarantee: durable"""
    acknowledged: list[str] = []
    enough = threading.Event()
    with running_server(tmp_path / "data") as server:

        async def kill() -> None:
            await asyncio.to_thread(enough.wait, 60)
            server.process.kill()

        async with asyncio.TaskGroup() as writers:
            for writer in range(WRITERS):
                writers.create_task(write(server, writer, acknowledged, enough))
            writers.create_task(kill())

    async with ApiServer(ServerConfig(data_dir=tmp_path / "data")) as restarted:
        found = set(await names(restarted))
        assert len(acknowledged) >= KILL_AFTER
        assert set(acknowledged) <= found
        # What was under way may or may not be there; nothing else is.
        assert len(found - set(acknowledged)) <= WRITERS
