"""A watch that goes on: resumed where it broke, mended by a list where that is not possible."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncIterator
from typing import Any

import pytest

from proreus.client import Forbidden
from proreus.client.resources.event_stream import WAITING_MAX, ObjectEvent
from tests.unit.client.resources.scripted_client import GONE, against, line
from tests.unit.client.scripted_server import (
    Step,
    answer,
    reset,
    stream,
)


def pod(name: str, version: int, uid: str = "") -> dict[str, Any]:
    metadata = {"name": name, "namespace": "a", "resourceVersion": str(version)}
    return {"kind": "Pod", "apiVersion": "v1", "metadata": {**metadata, "uid": uid or name}}


def listed(version: int, *pods: dict[str, Any]) -> Step:
    content = {"metadata": {"resourceVersion": str(version)}, "items": list(pods)}
    return answer(200, {"kind": "PodList", "apiVersion": "v1", **content})


async def taken(events: AsyncIterator[ObjectEvent], count: int) -> list[str]:
    found = [await anext(events) for _ in range(count)]
    return [
        f"{one.type}{'*' if one.is_synthetic else ''} {one.object.name} {one.object.uid} "
        f"{one.object.resource_version}"
        for one in found
    ]


async def test_it_begins_with_every_object_and_goes_on_with_every_change() -> None:
    changes = [line("MODIFIED", pod("p", 6)), line("DELETED", pod("p", 7))]
    steps = [listed(5, pod("p", 3), pod("q", 4)), stream(changes, then="hang")]
    async with against(*steps) as (client, _):
        events = client.core_v1.pods("a").events()
        found = await taken(events, 4)
        await events.aclose()

    assert found == ["ADDED* p p 3", "ADDED* q q 4", "MODIFIED p p 6", "DELETED p p 7"]
    assert events.resource_version == "7"


async def test_it_resumes_after_a_version_and_after_every_break_without_a_list() -> None:
    steps = [
        stream([line("ADDED", pod("p", 8))], then="reset"),
        reset(),
        stream([line("BOOKMARK", pod("", 11)), line("MODIFIED", pod("p", 12))], then="hang"),
    ]
    async with against(*steps) as (client, server):
        events = client.core_v1.pods("a").events(since="7")
        found = await taken(events, 2)
        await events.aclose()

    assert found == ["ADDED p p 8", "MODIFIED p p 12"]
    asked = [next(q for q in one.query if q.startswith("resourceV")) for one in server.requests]
    assert [asked[0], asked[-1]] == ["resourceVersion=7", "resourceVersion=8"]
    assert all("watch=true" in one.query for one in server.requests)


async def test_after_an_expired_version_the_difference_comes_as_synthetic_events() -> None:
    steps = [
        listed(5, pod("changed", 1), pod("gone", 2), pod("same", 3), pod("again", 4, "old")),
        stream([line("ERROR", GONE)]),
        listed(9, pod("changed", 6), pod("same", 3), pod("new", 7), pod("again", 8, "young")),
        stream([line("MODIFIED", pod("new", 10))], then="hang"),
    ]
    async with against(*steps) as (client, _):
        events = client.core_v1.pods("a").events()
        await taken(events, 4)
        found = await taken(events, 5)
        between = events.resource_version
        last = await taken(events, 1)
        await events.aclose()

    assert found == [
        "DELETED* gone gone 2",
        "MODIFIED* changed changed 6",
        "ADDED* new new 7",
        "DELETED* again old 4",
        "ADDED* again young 8",
    ]
    assert between == "5", "what is handed out of a list counts when all of it is"
    assert last == ["MODIFIED new new 10"] and events.resource_version == "10"


async def test_one_object_can_be_followed_by_its_name() -> None:
    steps = [listed(5), stream([line("ADDED", pod("p", 6))], then="hang")]
    async with against(*steps) as (client, server):
        events = client.core_v1.pods("a").events(name="p", field_selector="status.phase=Running")
        assert await taken(events, 1) == ["ADDED p p 6"]
        await events.aclose()

    selector = "fieldSelector=status.phase%3DRunning%2Cmetadata.name%3Dp"
    assert all(selector in one.query for one in server.requests)


async def test_what_the_server_will_go_on_to_refuse_is_raised() -> None:
    refusal = {**GONE, "reason": "Forbidden", "code": 403}
    async with against(answer(503), answer(403, refusal)) as (client, _):
        with pytest.raises(Forbidden):
            async for _event in client.core_v1.pods("a").events():
                raise AssertionError("there is nothing to report")


async def test_who_breaks_off_leaves_no_watch_behind() -> None:
    gc.disable()  # the end must not wait for it
    try:
        steps = [listed(5, pod("p", 3)), stream([line("MODIFIED", pod("p", 6))], then="hang")]
        async with against(*steps) as (client, _):
            async for event in client.core_v1.pods("a").events():
                if not event.is_synthetic:
                    break
            async with asyncio.timeout(60):
                while any(one.get_name() == "events" for one in asyncio.all_tasks()):  # noqa: ASYNC110
                    await asyncio.sleep(0)
    finally:
        gc.enable()


async def test_a_slow_reader_holds_up_the_server_and_misses_nothing() -> None:
    count = 3 * WAITING_MAX
    lines = [line("MODIFIED", pod("p", 10 + number)) for number in range(count)]
    async with against(listed(5), stream(lines, then="hang")) as (client, _):
        events = client.core_v1.pods("a").events()
        versions = []
        async for event in events:
            versions.append(int(event.object.resource_version))
            if len(versions) % 700 == 0:
                await asyncio.sleep(0.01)
            if len(versions) == count:
                break
        await events.aclose()

    assert versions == list(range(10, 10 + count))
