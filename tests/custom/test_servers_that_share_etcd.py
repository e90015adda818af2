"""A definition is made through one server; every other on the same etcd serves it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import orjson
import pytest

from proreus.client import Client, NotFound
from tests.custom.asking import (
    PATIENCE_S,
    WIDGETS,
    conditions,
    define,
    definitions,
    redefine,
    until,
    widgets,
)
from tests.custom.definitions import INTEGER, TEXT, definition, version, widget
from tests.in_process import servers_on_one_etcd


@pytest.fixture
async def clients() -> AsyncIterator[tuple[Client, Client]]:
    async with servers_on_one_etcd() as both:
        yield both


async def is_served(client: Client) -> bool:
    groups: dict[str, Any] = orjson.loads(await client.get_raw("/apis"))
    return "example.com" in [group["name"] for group in groups["groups"]]


async def test_a_definition_is_served_everywhere_and_removed_everywhere(
    clients: tuple[Client, Client],
) -> None:
    here, there = clients
    await define(here, definition(version(spec={"size": {**INTEGER, "default": 3}})))

    await until(lambda: is_served(there))
    made = await widgets(there).create(widget("a", spec={}))
    read = await widgets(here).get("a")
    await definitions(here).delete(WIDGETS)
    await definitions(there).wait_deleted(WIDGETS, timeout_s=PATIENCE_S)

    async def is_gone() -> bool:
        return not await is_served(there) and not await is_served(here)

    await until(is_gone)
    assert made.to_dict()["spec"] == {"size": 3}
    assert read.resource_version == made.resource_version
    for client in clients:
        with pytest.raises(NotFound):
            await client.get_raw("/apis/example.com/v1/widgets")


async def test_a_watch_through_one_sees_writes_through_the_other(
    clients: tuple[Client, Client],
) -> None:
    here, there = clients
    await define(here, definition(version(spec={"size": INTEGER})))
    await until(lambda: is_served(there))
    seen: list[str] = []

    async with asyncio.timeout(PATIENCE_S), widgets(there).watch() as events:
        await widgets(here).create(widget("a", spec={"size": 1}))
        await widgets(here).patch("a", {"spec": {"size": 2}})
        await widgets(there).patch("a", {"spec": {"size": 3}})
        await widgets(here).delete("a")
        async for event in events:
            if event.type != "BOOKMARK":
                seen.append(f"{event.type} {event.object['spec']['size']}")
            if event.type == "DELETED":
                break

    assert seen == ["ADDED 1", "MODIFIED 2", "MODIFIED 3", "DELETED 3"]


async def test_a_changed_schema_holds_for_all_and_ends_their_watches(
    clients: tuple[Client, Client],
) -> None:
    here, there = clients
    await define(here, definition(version(spec={"size": INTEGER})))
    await until(lambda: is_served(there))
    await widgets(here).create(widget("a", spec={"size": 1}))
    async with widgets(there).watch() as events:
        first = await anext(aiter(events))

    color = {**TEXT, "default": "red"}
    await redefine(here, definition(version(spec={"size": INTEGER, "color": color})))

    async def shows_the_default() -> bool:
        specs = [(await widgets(client).get("a")).to_dict()["spec"] for client in clients]
        return all("color" in spec for spec in specs)

    await until(shows_the_default)
    async with (
        asyncio.timeout(PATIENCE_S),
        widgets(there).watch(resource_version=first.object.resource_version) as events,
    ):
        await widgets(here).patch("a", {"spec": {"size": 2}})
        resumed = await anext(aiter(events))

    assert first.type == "ADDED"
    assert (resumed.type, resumed.object["spec"].to_dict()) == (
        "MODIFIED",
        {"color": "red", "size": 2},
    )


async def test_names_taken_through_one_are_taken_for_the_other(
    clients: tuple[Client, Client],
) -> None:
    here, there = clients
    await define(here, definition(version(), plural="bolts", kind="Bolt", shortNames=["b"]))
    await until(lambda: is_served(there))

    await definitions(there).create(
        definition(version(), plural="belts", kind="Belt", shortNames=["b"])
    )

    async def is_refused() -> bool:
        found = await conditions(here, "belts.example.com")
        return found.get("NamesAccepted", ("",))[0] == "False"

    await until(is_refused)
    await definitions(here).delete("bolts.example.com")
    await definitions(there).wait_for(
        "belts.example.com", "condition=Established", timeout_s=PATIENCE_S
    )
