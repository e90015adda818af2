"""How long a watch may be silent is said once, in the informer's configuration, and holds."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

import pytest

from proreus.client import Client, ClientConfig
from proreus.client.informer import ReflectorConfig, SharedInformer, SharedInformerFactory
from proreus.testing.virtual_clock import VirtualClock
from tests.unit.client.scripted_server import ScriptedServer, answer, stream

LIST = {"kind": "PodList", "apiVersion": "v1", "metadata": {"resourceVersion": "1"}, "items": []}


BOOKMARK = b'{"type":"BOOKMARK","object":{"kind":"Pod","metadata":{"resourceVersion":"2"}}}\n'


async def list_or_hang(received: Any, connection: Any) -> None:
    is_watch = "watch=true" in received.query
    step = stream([BOOKMARK], then="hang") if is_watch else answer(200, LIST)
    await step(received, connection)


async def wait_heard(informer: SharedInformer) -> None:
    """Until the watch is open and its bookmark has arrived, over a real socket."""
    async with asyncio.timeout(60):
        while informer.status().last_bookmark_age_s is None:  # noqa: ASYNC110  # its only sign
            await asyncio.sleep(0.001)


@contextlib.asynccontextmanager
async def informing(
    config: ReflectorConfig, clock: VirtualClock
) -> AsyncIterator[tuple[SharedInformer, ScriptedServer]]:
    """An informer that has heard of its server once, after which the server is silent."""
    async with (
        ScriptedServer([list_or_hang], repeats=True).running() as server,
        Client(ClientConfig(server.url), clock=clock) as client,
        SharedInformerFactory(client, config=config, clock=clock) as informers,
    ):
        pods = informers.informer("pods")
        informers.start()
        await wait_heard(pods)
        yield pods, server


@pytest.mark.parametrize("silence_max_s", [30, 90, 600])
async def test_a_silent_watch_is_replaced_after_the_configured_time(silence_max_s: float) -> None:
    clock = VirtualClock()
    config = ReflectorConfig(
        stream_lists=False, silence_max_s=silence_max_s, watch_timeout_min_s=3600
    )
    async with informing(config, clock) as (pods, server):
        await clock.advance(silence_max_s - 1)
        early = dict(pods.status().reconnect_causes)
        await clock.advance(2)
        await server.wait_requests(3)

        assert early == {}
        assert pods.status().reconnect_causes == {"silent": 1}


async def test_a_watch_may_end_as_late_as_configured() -> None:
    clock = VirtualClock()
    config = ReflectorConfig(
        stream_lists=False, silence_max_s=3600, watch_timeout_min_s=10, overtime_s=300
    )
    async with informing(config, clock) as (pods, _):
        await clock.advance(300)

        assert pods.status().reconnect_causes == {}
