"""Random histories with faults: the cache ends up equal, and every handler's story makes sense."""

from __future__ import annotations

import asyncio
from typing import TypeAlias

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.guarantees.informer_world import Fault, World

Step: TypeAlias = tuple[str, str | int | float]

NAMES = st.sampled_from("abcde")
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("write"), NAMES),
        st.tuples(st.just("write"), NAMES),
        st.tuples(st.just("delete"), NAMES),
        st.tuples(st.just("recreate"), NAMES),
        st.tuples(st.just("strike"), st.sampled_from(list(Fault))),
        st.tuples(st.just("refuse"), st.integers(1, 5)),
        st.tuples(st.just("compact"), st.just(0)),
        st.tuples(st.just("lag"), st.integers(0, 4)),
        st.tuples(st.just("join"), st.just(0)),
        st.tuples(st.just("pass"), st.sampled_from([0, 0.5, 2, 30, 100, 700])),
        st.tuples(st.just("turn"), st.integers(1, 4)),
    ),
    max_size=40,
)
MODES = [
    pytest.param({"streams_lists": True}, id="streamed lists"),
    pytest.param({"streams_lists": False}, id="plain lists"),
    pytest.param(
        {"streams_lists": True, "server_streams": False}, id="server that cannot stream lists"
    ),
]


async def play(world: World, steps: list[Step]) -> None:
    server = world.server
    for verb, argument in steps:
        match verb:
            case "write":
                server.write(str(argument))
            case "delete":
                server.delete(str(argument))
            case "recreate":
                server.delete(str(argument))
                server.write(str(argument))
            case "strike":
                server.strike(Fault(str(argument)))
            case "refuse":
                server.refusals = int(argument)
            case "compact":
                server.compact()
            case "lag":
                server.cache_lag = int(argument)
            case "join":
                world.join()
            case "pass":
                await world.clock.advance(float(argument))
            case "turn":
                for _ in range(int(argument)):
                    await asyncio.sleep(0)
            case _:
                raise AssertionError(verb)


async def witnessed(mode: dict[str, bool], steps: list[Step]) -> World:
    world = World(**mode)
    world.join()
    async with world.running():
        await play(world, steps)
        await world.recover()
    return world


@pytest.mark.parametrize("mode", MODES)
@given(steps=STEPS)
def test_after_any_faults_the_cache_equals_the_server(
    mode: dict[str, bool], steps: list[Step]
) -> None:
    """Guarantee: eventually equal"""
    world = asyncio.run(witnessed(mode, steps))

    assert world.informer.has_synced
    assert world.cached == world.served


@pytest.mark.parametrize("mode", MODES)
@given(steps=STEPS)
def test_every_handler_hears_each_objects_history_in_order(
    mode: dict[str, bool], steps: list[Step]
) -> None:
    """Guarantee: history in order"""
    world = asyncio.run(witnessed(mode, steps))

    for witness in world.witnesses:
        assert witness.complaints == []
        heard = {key: obj.resource_version for key, obj in witness.seen.items()}
        assert heard == world.served, "the story's end is the server's present"


def test_every_kind_of_fault_is_survived_in_a_row() -> None:
    """Guarantee: eventually equal"""
    steps: list[Step] = [("write", "a"), ("pass", 2)]
    for fault in Fault:
        steps += [("write", "b"), ("strike", fault), ("delete", "a"), ("compact", 0)]
        steps += [("pass", 100), ("write", "a"), ("refuse", 3), ("pass", 700)]

    world = asyncio.run(witnessed({"streams_lists": True}, steps))

    assert world.cached == world.served
    assert world.witnesses[0].complaints == []
    assert {"cut", "silent", "expired", "throttled"} <= set(
        world.informer.status().reconnect_causes
    )


def test_a_quiet_healthy_connection_is_left_alone() -> None:
    """An hour of bookmarks: reopened only by the watch's own timeout, never listed again."""
    world = asyncio.run(witnessed({"streams_lists": True}, [("write", "a"), ("pass", 3600)]))
    status = world.informer.status()

    assert (status.relists, set(status.reconnect_causes)) == (0, {"closed"})
    assert world.witnesses[0].heard == 1
