"""Selectors on versions that a webhook converts: they select converted objects."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from proreus.client import Client
from proreus.testing.server import running_server
from tests.custom.asking import PATIENCE_S, define, widgets
from tests.custom.conversion_server import ConversionServer, answer, conversion_server
from tests.custom.definitions import INTEGER, definition, version, widget

_SMALL = "spec.dimensions.size=1"


@pytest.fixture
async def client() -> AsyncIterator[Client]:
    async with running_server() as server, server.client() as made:
        yield made


@pytest.fixture
def hook() -> Iterator[ConversionServer]:
    with conversion_server() as started:
        yield started


async def prepared(client: Client, hook: ConversionServer) -> None:
    """Both versions select by size, which is elsewhere in each."""
    measured = {"dimensions": {"type": "object", "properties": {"size": INTEGER}}}
    body = definition(
        version(spec={"size": INTEGER}, selectableFields=[{"jsonPath": ".spec.size"}]),
        version(
            "v2",
            storage=False,
            spec=measured,
            selectableFields=[{"jsonPath": ".spec.dimensions.size"}],
        ),
    )
    body["spec"]["conversion"] = hook.conversion()
    await define(client, body)
    for name, size in (("a", 1), ("b", 2)):
        await widgets(client).create(widget(name, spec={"size": size}))


async def story(events: Any, last: str) -> list[str]:
    seen: list[str] = []
    async for event in events:
        if event.type != "BOOKMARK":
            size = event.object["spec"]["dimensions"]["size"]
            seen.append(f"{event.type} {event.object.name} {size}")
        if seen and seen[-1] == last:
            break
    return seen


async def test_a_field_is_looked_for_where_the_version_has_it(
    client: Client, hook: ConversionServer
) -> None:
    await prepared(client, hook)

    first = await widgets(client, "v1").list(field_selector="spec.size=1")
    second = await widgets(client, "v2").list(field_selector=_SMALL)

    assert [item.name for item in first.items] == ["a"]
    assert [item.name for item in second.items] == ["a"]


async def test_a_watch_sees_objects_come_into_the_selection_and_leave_it(
    client: Client, hook: ConversionServer
) -> None:
    await prepared(client, hook)

    async with (
        asyncio.timeout(PATIENCE_S),
        widgets(client, "v2").watch(field_selector=_SMALL) as events,
    ):
        for name, size in (("b", 3), ("b", 1), ("a", 2), ("b", 2)):
            await widgets(client).patch(name, {"spec": {"size": size}})
        seen = await story(events, "DELETED b 1")

    assert seen == ["ADDED a 1", "ADDED b 1", "DELETED a 1", "DELETED b 1"]


async def test_a_resumed_watch_knows_what_its_client_knew(
    client: Client, hook: ConversionServer
) -> None:
    await prepared(client, hook)
    listed = await widgets(client, "v2").list(field_selector=_SMALL)
    for name, size in (("a", 2), ("b", 3), ("b", 1)):
        await widgets(client).patch(name, {"spec": {"size": size}})

    resumed = widgets(client, "v2").watch(
        field_selector=_SMALL, resource_version=listed.resource_version
    )
    async with asyncio.timeout(PATIENCE_S), resumed as events:
        seen = await story(events, "ADDED b 1")

    assert seen == ["DELETED a 1", "ADDED b 1"]


async def test_labels_that_a_webhook_gives_are_selected_by(
    client: Client, hook: ConversionServer
) -> None:
    def labelling(review: dict[str, Any]) -> dict[str, Any]:
        said = answer(review)
        for obj in said["response"]["convertedObjects"]:
            size = obj["spec"].get("dimensions", {}).get("size")
            obj["metadata"]["labels"] = {"size": str(size)}
        return said

    await prepared(client, hook)
    hook.answer = labelling

    second = await widgets(client, "v2").list(label_selector="size=2")
    first = await widgets(client, "v1").list(label_selector="size=2")

    assert [item.name for item in second.items] == ["b"]
    assert first.items == []
