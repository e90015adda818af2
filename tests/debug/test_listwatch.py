"""Caches, watchers and the route of a change, as ``/debug/listwatch`` tells them."""

from __future__ import annotations

import asyncio
import itertools
import socket
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from proreus.api.values.timestamp import parse_time
from proreus.client.service_account_tokens import request_token
from proreus.testing.granting import Grant
from tests.debug.asking import Asking, asking

MAPS = "/api/v1/namespaces/default/configmaps"
WATCHERS = "/debug/listwatch/watchers?group=&resource=configmaps"
ROUTE = "/debug/listwatch/route?group=&resource=configmaps"


@pytest_asyncio.fixture
async def debug() -> AsyncIterator[Asking]:
    async with asking() as opened:
        yield opened


async def _create(debug: Asking, name: str, **fields: object) -> int:
    maps = debug.client.core_v1.configmaps("default")
    made = await maps.create({"metadata": {"name": name}, **fields})
    return int(made.resource_version)


async def _watcher_live(debug: Asking) -> dict[str, Any]:
    """The only watch, once it is live."""
    async with asyncio.timeout(60):
        while True:
            found = (await debug.get(WATCHERS))["watchers"]
            if found and found[0]["phase"] == "live":
                (watcher,) = found
                return dict(watcher)


async def test_a_cache_says_how_far_it_is_and_how_much_of_the_past_it_has(debug: Asking) -> None:
    revision = await _create(debug, "one")

    page = await debug.get("/debug/listwatch/caches")

    cache = next(one for one in page["caches"] if one["resource"] == "configmaps")
    assert page["revision"] >= revision
    assert (cache["group"], cache["version"], cache["ready"]) == ("", "v1", True)
    assert cache["revision"] >= revision > cache["oldestRevision"]
    assert cache["objects"] == cache["windowEvents"] + 1, "kube-root-ca.crt was there before"
    assert cache["windowCapacity"] >= cache["windowEvents"]
    assert cache["watchers"] == 0
    assert cache["secondsSinceEvent"] >= 0
    resources = [(one["group"], one["resource"]) for one in page["caches"]]
    assert len(resources) == len(set(resources)) > 50


async def test_a_watcher_says_whose_it_is_and_how_far(debug: Asking) -> None:
    asked = f"{debug.server.url}{MAPS}?watch=1&labelSelector=app%3Dweb"
    headers = {**debug.login(), "User-Agent": "curious/1.0"}
    async with asyncio.timeout(60), debug.http.get(asked, headers=headers) as answer:
        revision = await _create(debug, "other")
        maps = debug.client.core_v1.configmaps("default")
        await maps.create({"metadata": {"name": "one", "labels": {"app": "web"}}})
        await answer.content.readline()

        watcher = await _watcher_live(debug)

        assert watcher["user"] == "kubernetes-admin"
        assert watcher["userAgent"] == "curious/1.0"
        assert watcher["remoteAddress"] == "127.0.0.1"
        assert watcher["namespace"] == "default"
        assert watcher["labelSelector"] == "app=web"
        assert watcher["position"] > revision
        assert (watcher["behindEvents"], watcher["eventsSent"]) == (0, 1)
        assert watcher["openSeconds"] >= 0
        assert (await debug.get("/debug/listwatch/watchers?resource=pods"))["watchers"] == []
        assert len((await debug.get("/debug/listwatch/watchers"))["watchers"]) == 1


async def test_a_watcher_that_was_there_first_and_one_that_caught_up_had_as_many_events(
    debug: Asking,
) -> None:
    asked = f"{debug.server.url}{MAPS}?watch=1"
    async with asyncio.timeout(60), debug.http.get(asked, headers=debug.login()) as first:
        for number in range(3):
            await _create(debug, f"map-{number}")
        for _ in range(3):
            await first.content.readline()
        async with debug.http.get(asked, headers=debug.login()) as second:
            for _ in range(3):
                await second.content.readline()
            await _create(debug, "last")
            await first.content.readline()
            await second.content.readline()

            watchers = (await debug.get(WATCHERS))["watchers"]

    assert [watcher["eventsSent"] for watcher in watchers] == [4, 4]


async def test_a_watcher_that_does_not_read_is_seen_before_it_is_ended(debug: Asking) -> None:
    port = int(debug.server.url.rpartition(":")[2])
    with socket.socket() as unread:
        unread.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        unread.connect(("127.0.0.1", port))
        head = f"GET {MAPS}?watch=1 HTTP/1.1\r\nHost: a\r\n"
        unread.sendall(f"{head}Authorization: Bearer {debug.server.token}\r\n\r\n".encode())
        async with asyncio.timeout(60):
            while not (await debug.get(WATCHERS))["watchers"]:
                pass

            for number in itertools.count():
                await _create(debug, f"long-{number}", data={"text": "x" * 100_000})
                watcher = (await debug.get(WATCHERS))["watchers"][0]
                if watcher["bufferedBytes"]:
                    break

    assert watcher["bufferedBytes"] > 0
    assert watcher["phase"] in ("live", "catching up")


async def test_a_watcher_that_left_is_forgotten(debug: Asking) -> None:
    asked = f"{debug.server.url}{MAPS}?watch=1"
    async with debug.http.get(asked, headers=debug.login()):
        assert len((await debug.get(WATCHERS))["watchers"]) == 1

    async with asyncio.timeout(60):
        while (await debug.get(WATCHERS))["watchers"]:
            pass


async def test_a_change_reaches_every_stop_in_order(debug: Asking) -> None:
    asked = f"{debug.server.url}{MAPS}?watch=1"
    async with asyncio.timeout(60), debug.http.get(asked, headers=debug.login()) as answer:
        await _watcher_live(debug)
        made = await _create(debug, "one", data={"a": "b"})
        await answer.content.readline()
        await debug.client.core_v1.configmaps("default").delete("one")
        await answer.content.readline()

        deleted, added = (await debug.get(f"{ROUTE}&name=one"))["changes"]

    assert (added["revision"], added["type"], added["name"]) == (made, "ADDED", "one")
    assert added["manager"]
    assert (deleted["type"], deleted["manager"]) == ("DELETED", None)
    for change in (added, deleted):
        stops = [parse_time(change[stop]) for stop in ("committedAt", "ingestedAt", "deliveredAt")]
        assert stops == sorted(stops)


async def test_a_change_that_nobody_watches_is_delivered_to_nobody(debug: Asking) -> None:
    await _create(debug, "one")

    change = (await debug.get(f"{ROUTE}&namespace=default&name=one"))["changes"][0]

    assert change["ingestedAt"] is not None
    assert change["deliveredAt"] is None


async def test_a_route_has_as_many_changes_as_are_asked_for(debug: Asking) -> None:
    for number in range(3):
        await _create(debug, f"map-{number}")

    changes = (await debug.get(f"{ROUTE}&limit=2"))["changes"]

    assert [change["name"] for change in changes] == ["map-2", "map-1"]
    await debug.get(f"{ROUTE}&limit=0", 400)
    await debug.get(f"{ROUTE}&limit=100000", 400)
    await debug.get("/debug/listwatch/route?resource=nothing", 400)


@pytest.mark.parametrize(
    "page", ["/debug/listwatch/caches", WATCHERS, ROUTE, "/debug/history", "/debug/nothing"]
)
async def test_who_may_not_debug_is_refused(debug: Asking, page: str) -> None:
    accounts = debug.client.core_v1.serviceaccounts("default")
    await accounts.create({"metadata": {"name": "visitor"}})
    token = (await request_token(accounts, "visitor", {}))["status"]["token"]

    await debug.get(page, 403, token)
    await debug.server.grant("system:serviceaccount:default:visitor", Grant({"/debug/*": ["get"]}))

    await debug.get(page, 404 if page == "/debug/nothing" else 200, token)


async def test_debug_pages_are_read_only(debug: Asking) -> None:
    url = f"{debug.server.url}/debug/listwatch/caches"
    async with debug.http.post(url, headers=debug.login()) as answer:
        assert answer.status == 405
