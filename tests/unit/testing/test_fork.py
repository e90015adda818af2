"""A server's state, kept and brought back: tests that share one server do not see each other."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from proreus.client import Client, Conflict, Expired, Forbidden, NotFound
from proreus.server.config import ServerConfig
from proreus.testing.server import RunningServer, running_server
from proreus.testing.virtual_clock import VirtualClock
from tests.custom.definitions import definition, untyped

_CRD = definition(untyped())


@pytest.fixture
async def server() -> AsyncIterator[RunningServer]:
    async with running_server(clock=VirtualClock()) as running:
        yield running


@pytest.fixture
async def client(server: RunningServer) -> AsyncIterator[Client]:
    async with server.client() as connected:
        yield connected


def _map(name: str, **data: str) -> dict[str, object]:
    return {"metadata": {"name": name}, "data": data}


async def test_what_a_fork_does_is_undone_with_it(server: RunningServer, client: Client) -> None:
    maps = client.core_v1.configmaps("default")
    kept = await maps.create(_map("kept", k="1"))
    deleted = await maps.create(_map("deleted"))

    async with server.fork():
        await maps.create(_map("new"))
        await maps.patch("kept", {"data": {"k": "2"}})
        await maps.delete("deleted")

    assert await maps.get("kept") == kept
    assert await maps.get("deleted") == deleted
    assert {found.name for found in await maps.list()} >= {"kept", "deleted"}
    with pytest.raises(NotFound):
        await maps.get("new")


async def test_every_fork_begins_with_the_same_revision(
    server: RunningServer, client: Client
) -> None:
    maps = client.core_v1.configmaps("default")
    before = await server.checkpoint()

    first = await maps.create(_map("a"))
    await server.restore(before)
    second = await maps.create(_map("b"))

    assert first.resource_version == second.resource_version


async def test_a_watch_begun_in_a_fork_sees_its_events_and_no_others(
    server: RunningServer, client: Client
) -> None:
    maps = client.core_v1.configmaps("default")
    async with server.fork():
        await maps.create(_map("first"))

    async with server.fork():
        listed = await maps.list()
        async with maps.watch(resource_version=listed.resource_version) as events:
            await maps.create(_map("second"))
            event = await anext(aiter(events))

    assert event.object.name == "second"


async def test_a_watch_of_a_fork_ends_with_it(server: RunningServer, client: Client) -> None:
    maps = client.core_v1.configmaps("default")
    async with server.fork():
        listed = await maps.list()
        watch = maps.watch(resource_version=listed.resource_version)
        events = await watch.__aenter__()

    with pytest.raises(Exception) as ended:
        await anext(aiter(events))
    await watch.__aexit__(None, None, None)

    assert not isinstance(ended.value, TimeoutError)


async def test_states_from_before_the_fork_cannot_be_watched_in_what_it_changed(
    server: RunningServer, client: Client
) -> None:
    maps = client.core_v1.configmaps("default")
    old = await maps.list()
    await maps.create(_map("a"))
    before = await server.checkpoint()
    await maps.create(_map("b"))

    await server.restore(before)

    with pytest.raises(Expired):
        async with maps.watch(resource_version=old.resource_version) as events:
            await anext(aiter(events))


async def test_rights_given_in_a_fork_are_gone_after_it(server: RunningServer) -> None:
    async with server.fork(), server.client_as("ann", allow={"configmaps": ["list"]}) as ann:
        await ann.core_v1.configmaps("default").list()

    async with server.client_as("ann") as ann:
        with pytest.raises(Forbidden):
            await ann.core_v1.configmaps("default").list()


async def test_a_definition_of_a_fork_can_be_made_anew_in_the_next(
    server: RunningServer, client: Client
) -> None:
    definitions = client.resource("customresourcedefinitions.apiextensions.k8s.io")
    names = []
    for name in ("one", "two"):
        async with server.fork():
            await definitions.create(_CRD)
            await definitions.wait_for("widgets.example.com", "condition=Established")
            async with server.client() as fresh:
                widgets = fresh.resource("widgets.example.com")("default")
                await widgets.create(
                    {
                        "apiVersion": "example.com/v1",
                        "kind": "Widget",
                        "metadata": {"name": name},
                    }
                )
                names.append([widget.name for widget in await widgets.list()])

    assert names == [["one"], ["two"]]


async def test_a_definition_from_before_is_served_in_every_fork(
    server: RunningServer, client: Client
) -> None:
    definitions = client.resource("customresourcedefinitions.apiextensions.k8s.io")
    await definitions.create(_CRD)
    await definitions.wait_for("widgets.example.com", "condition=Established")
    widgets = client.resource("widgets.example.com")("default")
    async with server.fork():
        await definitions.delete("widgets.example.com")
        await server.settle()

    made = await widgets.create(
        {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "a"}}
    )

    assert made.name == "a"


async def test_forks_nest(server: RunningServer, client: Client) -> None:
    maps = client.core_v1.configmaps("default")
    async with server.fork():
        outer = await maps.create(_map("outer"))
        async with server.fork():
            await maps.delete("outer")
        again = await maps.get("outer")

    assert again == outer
    with pytest.raises(NotFound):
        await maps.get("outer")


async def test_a_checkpoint_of_a_later_state_can_be_brought_back_from_an_earlier_one(
    server: RunningServer, client: Client
) -> None:
    maps = client.core_v1.configmaps("default")
    empty = await server.checkpoint()
    await maps.create(_map("a"))
    full = await server.checkpoint()
    await server.restore(empty)
    await maps.create(_map("b"))

    await server.restore(full)

    names = {found.name for found in await maps.list()}
    assert "a" in names
    assert "b" not in names


async def test_a_stale_write_conflicts_after_a_fork_as_before(
    server: RunningServer, client: Client
) -> None:
    maps = client.core_v1.configmaps("default")
    made = await maps.create(_map("a", k="1"))
    async with server.fork():
        await maps.patch("a", {"data": {"k": "2"}})
        with pytest.raises(Conflict):
            await maps.replace(made)

    written = await maps.replace({**made.to_dict(), "data": {"k": "3"}})

    assert written["data"]["k"] == "3"


async def test_the_time_of_day_goes_back_with_a_fork() -> None:
    clock = VirtualClock()
    async with running_server(clock=clock) as server:
        before = clock.now()
        async with server.fork():
            await server.advance("2m")

        assert clock.now() == before


async def test_only_a_server_in_memory_is_forked(tmp_path: Path) -> None:
    async with running_server(ServerConfig(data_dir=tmp_path)) as server:
        with pytest.raises(ValueError, match="in memory"):
            await server.checkpoint()
