"""A connection that died without saying so is found by a deadline, replaced, counted and logged."""

from __future__ import annotations

import logging

import pytest

from tests.guarantees.informer_world import Fault, World


async def test_a_stream_that_fell_silent_is_replaced_within_90_seconds(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Guarantee: alive or loud"""
    caplog.set_level(logging.INFO)
    world = World(streams_lists=True)
    async with world.running():
        await world.clock.advance(5)
        world.server.strike(Fault.SILENCE)
        world.server.write("a")
        await world.clock.advance(80)
        unnoticed = dict(world.cached)
        await world.clock.advance(15)

        assert unnoticed == {}
        assert world.cached == world.served
        assert world.informer.status().reconnect_causes == {"silent": 1}
        assert "cause=silent" in caplog.text


async def test_status_shows_a_server_that_is_away() -> None:
    """Guarantee: alive or loud"""
    world = World(streams_lists=True)
    async with world.running():
        await world.clock.advance(5)
        healthy = world.informer.status().is_healthy()
        world.server.refusals = 10_000
        world.server.strike(Fault.CUT)
        await world.clock.advance(300)
        status = world.informer.status()

        assert healthy
        assert not status.is_healthy(max_age_s=120)
        assert status.phase == "resting"
        assert "refused" in status.last_failure
        assert status.reconnect_causes["refused"] >= 5


async def test_an_outage_of_an_hour_costs_at_most_a_request_per_half_minute() -> None:
    """Back-off matters as much as liveness: a fleet must not trample a server that comes back."""
    world = World(streams_lists=True)
    async with world.running():
        await world.clock.advance(5)
        world.server.refusals = 10_000
        world.server.strike(Fault.CUT)
        await world.clock.advance(3600)
        requests = 10_000 - world.server.refusals
        await world.recover()
        world.server.write("a")
        await world.clock.advance(1)

        assert 60 <= requests <= 125
        assert world.cached == world.served
