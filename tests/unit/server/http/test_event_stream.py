"""Watches as Server-Sent Events."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator

import httpx
import pytest

from proreus.server.http.handlers.event_stream import as_events
from proreus.testing.server import running_server


def test_a_frame_is_an_event_whose_id_is_its_resource_version() -> None:
    frame = b'{"type":"ADDED","object":{"metadata":{"resourceVersion":"7"}}}\n'

    assert as_events(frame + frame) == 2 * (b"id: 7\nevent: ADDED\ndata: " + frame + b"\n")


def test_an_error_has_no_id_so_that_nobody_resumes_from_it() -> None:
    frame = b'{"type":"ERROR","object":{"kind":"Status","metadata":{},"code":410}}\n'

    assert as_events(frame) == b"event: ERROR\ndata: " + frame + b"\n"


@pytest.mark.parametrize("path", ["configmaps?watch=1", "configmaps?watch=true&pretty=1"])
async def test_a_server_sends_changes_of_any_kind_as_events(path: str) -> None:
    async with running_server() as server, server.client() as client:
        maps = client.core_v1.configmaps("default")
        made = await maps.create({"metadata": {"name": "a"}})
        headers = {"Authorization": f"Bearer {server.token}", "Accept": "text/event-stream"}
        where = f"{server.url}/api/v1/namespaces/default/{path}"
        headers["Last-Event-ID"] = made.resource_version
        async with (
            asyncio.timeout(60),
            httpx.AsyncClient(timeout=60) as http,
            http.stream("GET", where, headers=headers) as answer,
        ):
            await maps.delete("a")
            lines = [line async for line in _until_data(answer)]

    assert answer.headers["Content-Type"] == "text/event-stream"
    assert "event: DELETED" in lines
    event = json.loads(lines[-1].removeprefix("data: "))
    assert event["object"]["metadata"]["name"] == "a"


async def _until_data(answer: httpx.Response) -> AsyncIterator[str]:
    async for line in answer.aiter_lines():
        yield line
        if line.startswith("data: "):
            return
