"""A part of the cluster is alive or loud."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable

import pytest

from proreus.aio.tasks import background
from proreus.client import Client, ClientConfig
from proreus.cluster.components import Component, _loaded_later, run_component
from proreus.testing.virtual_clock import VirtualClock


async def test_a_part_that_dies_is_said_and_started_again_with_a_new_client(
    caplog: pytest.LogCaptureFixture,
) -> None:
    clients: list[Client] = []

    async def run(client: Client) -> None:
        clients.append(client)
        if len(clients) < 3:
            raise RuntimeError("out of luck")
        await asyncio.Event().wait()

    clock = VirtualClock()
    config = ClientConfig("http://127.0.0.1:1")
    async with background(run_component(Component("unlucky", run), config, clock)):
        await clock.advance(60)

    assert len({id(client) for client in clients}) == 3
    said = [record.getMessage() for record in caplog.records if record.levelname == "ERROR"]
    assert len(said) == 2
    assert all("part died, restarting: part=unlucky" in message for message in said)


async def test_a_part_brings_its_own_name_and_no_rate_limit() -> None:
    seen: list[ClientConfig] = []

    async def run(client: Client) -> None:
        seen.append(client.config)
        await asyncio.Event().wait()

    clock = VirtualClock()
    config = ClientConfig("http://127.0.0.1:1")
    async with background(run_component(Component("quick", run), config, clock)):
        await clock.settle()

    assert (seen[0].user_agent, seen[0].rate_limit) == ("proreus-quick", None)


async def test_the_code_of_parts_is_loaded_by_one_thread_at_a_time() -> None:
    """Rather than let two wait for each other, Python gives one of them half a module."""
    loading = most = 0

    async def end(client: Client) -> None:
        pass

    def load() -> Callable[[Client], Awaitable[None]]:
        nonlocal loading, most
        loading += 1
        most = max(most, loading)
        time.sleep(0.01)
        loading -= 1
        return end

    parts = [_loaded_later(f"part-{number}", load) for number in range(5)]
    async with Client(ClientConfig("http://127.0.0.1:1")) as client:
        await asyncio.gather(*(part.run(client) for part in parts))

    assert most == 1
