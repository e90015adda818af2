"""What the server was asked, told and asserted."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from proreus.client import Client, Forbidden, NotFound
from proreus.testing.server import RunningServer, running_server
from proreus.testing.virtual_clock import VirtualClock


@pytest.fixture
async def server() -> AsyncIterator[RunningServer]:
    async with running_server(clock=VirtualClock()) as running:
        yield running


@pytest.fixture
async def client(server: RunningServer) -> AsyncIterator[Client]:
    async with server.client(user_agent="tester/1.0") as connected:
        yield connected


async def test_a_request_says_who_asked_for_what_and_got_which_answer(
    server: RunningServer, client: Client
) -> None:
    await client.core_v1.configmaps("default").create(
        {"metadata": {"name": "a"}, "data": {"k": "v"}}
    )

    asked = server.requests.of("create", "configmaps")[-1]

    assert (asked.user, asked.user_agent) == ("kubernetes-admin", "tester/1.0")
    assert (asked.verb, asked.resource, asked.namespace) == ("create", "configmaps", "default")
    assert asked.status == 201
    assert asked.object is not None
    assert asked.object["data"] == {"k": "v"}
    assert asked.revision_after == asked.revision_before + 1


async def test_a_refusal_is_recorded_with_its_reason(server: RunningServer, client: Client) -> None:
    with pytest.raises(NotFound):
        await client.core_v1.configmaps("default").get("missing")
    async with server.client_as("ann") as ann:
        with pytest.raises(Forbidden):
            await ann.core_v1.configmaps("default").list()

    missing = server.requests.of("get", "configmaps", "missing")[0]
    assert (missing.status, missing.reason) == (404, "NotFound")
    refused = server.requests.of("list", "configmaps").answered(403)
    assert [asked.reason for asked in refused] == ["Forbidden"]


async def test_an_assertion_that_fails_shows_the_history(
    server: RunningServer, client: Client
) -> None:
    await client.core_v1.namespaces.get("default")

    with pytest.raises(AssertionError) as failed:
        server.requests.by("tester").of("delete", "pods").happened()

    text = str(failed.value)
    assert "expected at least one of" in text
    assert "delete pods" in text
    assert "tester/1.0 (kubernetes-admin) GET /api/v1/namespaces/default → 200" in text


async def test_selections_are_sentences(server: RunningServer, client: Client) -> None:
    maps = client.core_v1.configmaps("default")
    await maps.create({"metadata": {"name": "a"}})
    await maps.patch("a", {"data": {"k": "v"}})

    server.requests.by("tester").of("patch", "configmaps", "a").happened(times=1)
    server.requests.of("delete", "*").never_happened()
    server.requests.by(user="ann").never_happened()
    assert [asked.verb for asked in server.requests.writes] == ["create", "patch"]


async def test_watches_count_their_events(server: RunningServer, client: Client) -> None:
    maps = client.core_v1.configmaps("default")
    listed = await maps.list()
    async with maps.watch(resource_version=listed.resource_version) as events:
        await maps.create({"metadata": {"name": "a"}})
        await anext(aiter(events))
        watch = server.requests.of("watch", "configmaps")[0]

        assert watch.is_in_flight
        assert watch.events_sent == 1


async def test_cleared_requests_are_gone(server: RunningServer, client: Client) -> None:
    await client.core_v1.namespaces.get("default")

    server.requests.clear()

    assert not server.requests
