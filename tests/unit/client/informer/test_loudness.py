"""A program that waits for its caches says why, soon and again and again, and not more often."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import random
from collections.abc import AsyncIterator

import pytest

from proreus.api.status import Forbidden
from proreus.client.controller import Controller, Request
from proreus.client.credentials import CredentialError
from proreus.client.informer import SharedInformer, SharedInformerFactory
from proreus.net.client.transport_error import ConnectionRefused
from proreus.testing.virtual_clock import VirtualClock
from tests.unit.client.informer.harness import LISTS, informer_of, running
from tests.unit.client.informer.scripted import ScriptedListWatch, Stream, page, pod

REFUSED = ConnectionRefused("https://server:6443", "connection refused")


def warnings(caplog: pytest.LogCaptureFixture, words: str) -> list[str]:
    return [
        record.getMessage()
        for record in caplog.records
        if record.levelno >= logging.WARNING and words in record.getMessage()
    ]


async def reconcile(_: Request) -> None:
    pass


@contextlib.asynccontextmanager
async def tasks(*parts: Controller | SharedInformer) -> AsyncIterator[list[asyncio.Task[None]]]:
    running = [asyncio.ensure_future(part.run()) for part in parts]
    try:
        yield running
    finally:
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)


async def test_a_controller_whose_informer_was_not_started_says_so(
    caplog: pytest.LogCaptureFixture,
) -> None:
    clock = VirtualClock()
    pods = SharedInformer(ScriptedListWatch(), "pods", config=LISTS, clock=clock)
    async with tasks(Controller(reconcile, pods)):
        await clock.advance(1)
        soon = warnings(caplog, "not synced after 1 s: waiting=controller pods")
        await clock.advance(60)

    assert len(soon) == 1 and "pods: its informer was not started" in soon[0]
    assert len(warnings(caplog, "not synced after")) == 3


async def test_a_controller_whose_server_is_down_says_why_it_waits(
    caplog: pytest.LogCaptureFixture,
) -> None:
    clock = VirtualClock()
    script = ScriptedListWatch(*[REFUSED] * 100)
    pods = SharedInformer(script, "pods", config=LISTS, clock=clock, randomness=random.Random(7))
    async with tasks(pods, Controller(reconcile, pods)):
        await clock.advance(1)

        (line,) = warnings(caplog, "not synced after 1 s")
        assert "pods: ConnectionRefused: https://server:6443: connection refused" in line


async def test_a_list_that_takes_its_time_is_reported_after_five_seconds(
    caplog: pytest.LogCaptureFixture,
) -> None:
    clock = VirtualClock()
    async with SharedInformerFactory(
        lambda _: ScriptedListWatch(), config=LISTS, clock=clock
    ) as informers:
        informers.informer("pods")
        informers.start()
        waiting = asyncio.ensure_future(informers.wait_for_cache_sync())
        await clock.advance(4)
        early = warnings(caplog, "not synced")
        await clock.advance(2)
        waiting.cancel()

        assert early == []
        (line,) = warnings(caplog, "not synced after 5 s")
        assert "pods: listing" in line


async def test_a_controller_runs_once(caplog: pytest.LogCaptureFixture) -> None:
    clock = VirtualClock()
    script = ScriptedListWatch(page(pod("a", 1), version=1), Stream())
    pods = SharedInformer(script, "pods", config=LISTS, clock=clock)
    controller = Controller(reconcile, pods)
    async with tasks(pods, controller):
        await clock.settle()
        with pytest.raises(RuntimeError, match="runs already, or has run"):
            await controller.run()
    with pytest.raises(RuntimeError, match="runs already, or has run"):
        await controller.run()

    assert warnings(caplog, "not synced") == []


@pytest.mark.parametrize(
    "failure",
    [REFUSED, Forbidden("no"), CredentialError("plugin: exit code 1")],
)
async def test_a_server_that_cannot_be_used_is_a_warning_at_once_and_each_half_minute(
    failure: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    bench = informer_of(*[failure] * 100)
    async with running(bench):
        at_once = warnings(caplog, "cannot be followed")
        await bench.clock.advance(600)
        in_ten_minutes = warnings(caplog, "cannot be followed")

    assert len(at_once) == 1 and str(failure) in at_once[0]
    assert 10 <= len(in_ten_minutes) <= 21
    assert not any(record.exc_info for record in caplog.records)


async def test_a_server_that_comes_back_is_said_once(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    stream = Stream()
    bench = informer_of(*[REFUSED] * 3, page(pod("a", 1), version=1), stream)
    async with running(bench):
        await bench.clock.advance(30)

        assert bench.informer.has_synced
    assert len(warnings(caplog, "cannot be followed")) == 1
    assert caplog.text.count("can be followed again") == 1
