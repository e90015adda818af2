"""Compression: large answers, and watches that begin with a list, for clients that accept gzip."""

from __future__ import annotations

import asyncio
import gzip
import json
import zlib
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

import aiohttp
import pytest
import pytest_asyncio

from proreus.server.app import ApiServer
from proreus.server.config import ServerConfig
from proreus.server.http.handlers.gzip_sink import gzip_member

PATH = "/api/v1/namespaces/default/configmaps"
WATCH_LIST = (
    "watch=1&sendInitialEvents=true&allowWatchBookmarks=true"
    "&resourceVersionMatch=NotOlderThan&resourceVersion="
)
GZIP = {"Accept-Encoding": "gzip"}
COUNT = 40
MEMBER_END_BYTES = 2 + 8  # an empty last block, checksum and size
pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def server() -> AsyncIterator[ApiServer]:
    async with ApiServer(ServerConfig()) as running, asking(running) as session:
        for number in range(COUNT):
            await create(session, f"c-{number}")
        yield running


@asynccontextmanager
async def asking(server: ApiServer) -> AsyncIterator[aiohttp.ClientSession]:
    """What comes compressed stays so."""
    headers = {"Authorization": f"Bearer {server.token}", "Accept-Encoding": "identity"}
    async with aiohttp.ClientSession(
        server.url, headers=headers, auto_decompress=False, timeout=aiohttp.ClientTimeout(60)
    ) as session:
        yield session


async def create(session: aiohttp.ClientSession, name: str) -> None:
    value = {"metadata": {"name": name}, "data": {"fill": "x" * 5_000}}
    async with session.post(PATH, json=value) as answer:
        assert answer.status == 201, await answer.text()


class Member:
    """Compressed members, told apart as they come."""

    def __init__(self) -> None:
        self.count = 0
        self._packed = zlib.decompressobj(31)

    def take(self, data: bytes) -> bytes:
        found = b""
        while data:
            found += self._packed.decompress(data)
            if not self._packed.eof:
                break
            data, self._packed = self._packed.unused_data, zlib.decompressobj(31)
            self.count += 1
        return found


async def test_a_watch_that_begins_with_a_list_is_compressed_burst_by_burst(
    server: ApiServer,
) -> None:
    async with (
        asking(server) as session,
        session.get(f"{PATH}?{WATCH_LIST}", headers=GZIP) as answer,
    ):
        assert answer.headers["Content-Encoding"] == "gzip"
        assert answer.headers["Vary"] == "Accept-Encoding"
        members, lines, sent = Member(), b"", 0
        while b"initial-events-end" not in lines:
            data = await answer.content.readany()
            sent += len(data)
            lines += members.take(data)
        initial = [json.loads(line) for line in lines.splitlines()]
        whole = members.count

        await create(session, "later")
        live = b""
        while not live:
            live += members.take(await answer.content.readany())

    assert [event["type"] for event in initial] == ["ADDED"] * (len(initial) - 1) + ["BOOKMARK"]
    assert len(initial) > COUNT
    assert sent < len(lines) / 5
    assert json.loads(live)["object"]["metadata"]["name"] == "later"
    assert members.count == whole + 1  # the event's own: it is there without those behind it


@pytest.mark.parametrize("count", [1, 3_000, 20_000])
async def test_a_burst_can_be_read_whole_before_its_member_ends(count: int) -> None:
    """Go's reader keeps what comes together with an end until the next member begins."""
    frames = b'{"type":"BOOKMARK"}\n' * count

    reader = zlib.decompressobj(31)
    found = reader.decompress(gzip_member(frames)[:-MEMBER_END_BYTES])

    assert found == frames
    assert not reader.eof


PLAIN_WATCHES: Mapping[str, tuple[str, Mapping[str, str]]] = {
    "a client that does not accept it": (WATCH_LIST, {}),
    "one that accepts it less": (WATCH_LIST, {"Accept-Encoding": "gzip;q=0.5"}),
    "a watch that says nothing of a list": ("watch=1", GZIP),
    "a watch without bookmarks": (
        WATCH_LIST.replace("&allowWatchBookmarks=true", ""),
        GZIP,
    ),
}


@pytest.mark.parametrize("what", PLAIN_WATCHES)
async def test_other_watches_are_not_compressed(server: ApiServer, what: str) -> None:
    query, headers = PLAIN_WATCHES[what]
    async with (
        asking(server) as session,
        session.get(f"{PATH}?{query}", headers=headers) as answer,
    ):
        assert answer.status == 200
        assert "Content-Encoding" not in answer.headers
        assert json.loads(await answer.content.readline())["type"] == "ADDED"


async def test_a_large_list_is_compressed_and_the_same(server: ApiServer) -> None:
    async with asking(server) as session:
        async with session.get(PATH, headers=GZIP) as answer:
            packed = await answer.read()
            assert answer.headers["Content-Encoding"] == "gzip"
        async with session.get(PATH) as answer:
            plain = await answer.read()
        async with session.get(f"{PATH}?limit=1", headers=GZIP) as answer:
            assert "Content-Encoding" not in answer.headers  # it is short

    assert gzip.decompress(packed) == plain
    assert len(packed) < len(plain) / 5


async def test_our_own_client_reads_it(server: ApiServer) -> None:
    """By aiohttp's decompression, as it asks for it when the server is elsewhere."""
    headers = {"Authorization": f"Bearer {server.token}", **GZIP}
    async with (
        asyncio.timeout(60),
        aiohttp.ClientSession(server.url, headers=headers) as session,
        session.get(f"{PATH}?{WATCH_LIST}&timeoutSeconds=1") as answer,
    ):
        events = [json.loads(line) for line in (await answer.read()).splitlines()]

    assert events[-1]["type"] == "BOOKMARK"
    assert len(events) > COUNT


@pytest.mark.parametrize("size", [0, 100, 128 * 1024, 3 * 1024 * 1024])
async def test_every_burst_is_packed_and_one_that_is_too_long_as_it_is(size: int) -> None:
    frames = b"x" * size

    packed = gzip_member(frames)

    assert gzip.decompress(packed) == frames
    assert (len(packed) > size) == (size > 128 * 1024 or not size)
