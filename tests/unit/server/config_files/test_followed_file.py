"""A configuration file that is followed: what is valid takes effect, the rest changes nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from proreus.aio.tasks import background
from proreus.server.config_files.fields import ConfigFileInvalid
from proreus.server.config_files.followed_file import FollowedFile, Reloads
from proreus.server.offload import INLINE
from proreus.testing.virtual_clock import VirtualClock


def number(text: bytes) -> int:
    if not text.isdigit():
        raise ConfigFileInvalid("count: must be a number")
    return int(text)


class World:
    def __init__(self, path: Path) -> None:
        self.path = path
        self.reloads = Reloads()
        self.clock = VirtualClock()

    def follow(self, on_change: Callable[[int], None] | None = None) -> FollowedFile[int]:
        return FollowedFile(self.path, "number", number, self.reloads, self.clock, on_change)


@pytest.fixture
def world(tmp_path: Path) -> World:
    world = World(tmp_path / "number")
    world.path.write_text("1")
    return world


def test_a_wrong_file_is_refused_at_the_start_by_its_name(world: World) -> None:
    world.path.write_text("one")

    with pytest.raises(ConfigFileInvalid) as refused:
        world.follow()

    assert str(refused.value) == f"number file {world.path}: count: must be a number"


def test_a_file_of_unreasonable_size_is_refused(world: World) -> None:
    world.path.write_bytes(b"1" * (4 * 1024 * 1024 + 1))

    with pytest.raises(ConfigFileInvalid, match="it has more than"):
        world.follow()


async def test_a_change_takes_effect_within_a_minute(world: World) -> None:
    seen: asyncio.Queue[int] = asyncio.Queue()
    file = world.follow(seen.put_nowait)
    world.path.write_text("2")

    async with background(file.run(INLINE)):
        await world.clock.advance(60)
        assert await seen.get() == 2

    assert file.value == 2
    assert world.reloads.counts == {"success": 1}


async def test_a_file_that_is_gone_is_counted_once_and_taken_again_when_it_is_back(
    world: World,
) -> None:
    file = world.follow()

    world.path.unlink()
    await file.reload(INLINE)
    await file.reload(INLINE)
    assert (file.value, world.reloads.counts) == (1, {"failure": 1})

    world.path.write_text("3")
    await file.reload(INLINE)
    assert (file.value, world.reloads.counts) == (3, {"failure": 1, "success": 1})


async def test_a_wrong_change_is_counted_once_and_leaves_the_value_in_force(world: World) -> None:
    file = world.follow()

    world.path.write_text("three")
    await file.reload(INLINE)
    await file.reload(INLINE)

    assert (file.value, world.reloads.counts) == (1, {"failure": 1})
