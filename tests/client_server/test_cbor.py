"""CBOR for clients that ask for it: the same objects, lists, events and errors as in JSON."""

from __future__ import annotations

import io
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import cbor2
import pytest
import pytest_asyncio

from proreus.api.wire import cbor
from proreus.server.app import ApiServer
from proreus.server.config import ServerConfig
from tests.cbor import json_of, json_value

PATH = "/api/v1/namespaces/default/configmaps"
CBOR = "application/cbor"
ACCEPT = {"Accept": CBOR}
pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def server() -> AsyncIterator[ApiServer]:
    async with ApiServer(ServerConfig()) as running, asking(running) as session:
        for number in range(150):
            async with session.post(PATH, json=config_map(f"c-{number:03}")) as answer:
                assert answer.status == 201
        yield running


@asynccontextmanager
async def asking(server: ApiServer) -> AsyncIterator[aiohttp.ClientSession]:
    headers = {"Authorization": f"Bearer {server.token}"}
    timeout = aiohttp.ClientTimeout(60)
    async with aiohttp.ClientSession(server.url, headers=headers, timeout=timeout) as session:
        yield session


def config_map(name: str, **data: str) -> dict[str, Any]:
    return {
        "kind": "ConfigMap",
        "apiVersion": "v1",
        "metadata": {"name": name},
        "data": data or {"k": "v"},
    }


SAME = {
    "an object": f"{PATH}/c-000",
    "a list": PATH,
    "a page": f"{PATH}?limit=3",
    "an empty list": "/api/v1/namespaces/absent/configmaps",
    "an error": f"{PATH}/absent",
    "a custom resource definition": "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
}


@pytest.mark.parametrize("what", SAME)
async def test_what_is_answered_in_cbor_is_what_is_answered_in_json(
    server: ApiServer, what: str
) -> None:
    async with asking(server) as session:
        async with session.get(SAME[what], headers=ACCEPT) as answer:
            assert answer.headers["Content-Type"] == CBOR
            body, code = await answer.read(), answer.status
        async with session.get(SAME[what]) as answer:
            plain = await answer.json()
            assert answer.status == code

    assert body.startswith(cbor.SELF_DESCRIBED)
    found = json_of(body)
    for one in (found, plain):
        one["metadata"].pop("continue", None)  # made anew each time
    assert found == plain


@pytest.mark.parametrize("media", [CBOR, "application/vnd.kubernetes.protobuf"])
async def test_what_has_changed_is_read_as_it_is_now(server: ApiServer, media: str) -> None:
    """Though it was read in this format before, and its encoding is remembered."""
    path, accept = f"{PATH}/c-001", {"Accept": media}
    async with asking(server) as session:
        for value in ("one", "two"):
            async with session.put(path, json=config_map("c-001", k=value), headers=accept) as put:
                written = await put.read()
            async with session.get(path, headers=accept) as answer:
                read = await answer.read()
            async with session.get(PATH, headers=accept) as answer:
                listed = await answer.read()

            assert written == read
            assert value.encode() in read
            assert value.encode() in listed


@pytest.mark.parametrize("form", ["Table", "PartialObjectMetadataList"])
async def test_tables_and_metadata_come_in_cbor_too(server: ApiServer, form: str) -> None:
    accept = f"{CBOR};as={form};g=meta.k8s.io;v=v1"
    async with (
        asking(server) as session,
        session.get(PATH, headers={"Accept": accept}) as answer,
    ):
        found = json_of(await answer.read())

    assert found["kind"] == form
    assert len(found["rows" if form == "Table" else "items"]) >= 150


async def test_a_watch_is_a_sequence_of_documents(server: ApiServer) -> None:
    async with (
        asking(server) as session,
        session.get(f"{PATH}?watch=1&limit=5", headers=ACCEPT) as answer,
    ):
        assert answer.headers["Content-Type"] == f"{CBOR}-seq"
        stream, events = b"", list[Any]()
        while len(events) < 150:
            stream += await answer.content.readany()
            events = documents(stream)

    assert {event["type"] for event in events} == {"ADDED"}
    assert events[0]["object"]["kind"] == "ConfigMap"
    assert {"c-000", "c-149"} <= {event["object"]["metadata"]["name"] for event in events}


def documents(stream: bytes) -> list[Any]:
    """Those that have come whole."""
    found, source = list[Any](), io.BytesIO(stream)
    decoder = cbor2.CBORDecoder(source)
    while True:
        try:
            found.append(json_value(decoder.decode()))
        except cbor2.CBORDecodeEOF:
            return found


@pytest.mark.parametrize(
    ("method", "content_type"), [("POST", CBOR), ("PATCH", "application/apply-patch+cbor")]
)
async def test_a_body_in_cbor_is_refused_so_that_clients_go_on_with_json(
    server: ApiServer, method: str, content_type: str
) -> None:
    async with (
        asking(server) as session,
        session.request(
            method,
            PATH if method == "POST" else f"{PATH}/c-000?fieldManager=me",
            data=cbor.encode(config_map("mine")),
            headers={"Content-Type": content_type},
        ) as answer,
    ):
        assert answer.status == 415
        assert (await answer.json())["reason"] == "UnsupportedMediaType"


@pytest.mark.parametrize("accept", ["*/*", f"application/json, {CBOR}", f"{CBOR};q=0.5, */*"])
async def test_who_takes_json_as_gladly_gets_json(server: ApiServer, accept: str) -> None:
    async with (
        asking(server) as session,
        session.get(PATH, headers={"Accept": accept}) as answer,
    ):
        assert answer.headers["Content-Type"] == "application/json"
