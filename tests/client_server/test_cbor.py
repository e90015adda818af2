"""CBOR for clients that ask for it: the same objects, lists, events and errors as in JSON."""

from __future__ import annotations

import io
import json
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
    found = cbor.decode(body)
    for one in (found, plain):
        one["metadata"].pop("continue", None)  # made anew each time
    assert found == plain


@pytest.mark.parametrize("form", ["Table", "PartialObjectMetadataList"])
async def test_tables_and_metadata_come_in_cbor_too(server: ApiServer, form: str) -> None:
    accept = f"{CBOR};as={form};g=meta.k8s.io;v=v1"
    async with (
        asking(server) as session,
        session.get(PATH, headers={"Accept": accept}) as answer,
    ):
        found = cbor.decode(await answer.read())

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
            found.append(cbor.decode(cbor2.dumps(decoder.decode())))
        except cbor2.CBORDecodeEOF:
            return found


async def test_a_body_in_cbor_creates_updates_and_applies(server: ApiServer) -> None:
    sent = {**ACCEPT, "Content-Type": CBOR}
    async with asking(server) as session:
        async with session.post(
            PATH, data=cbor.encode(config_map("mine", a="1")), headers=sent
        ) as answer:
            assert answer.status == 201
            made = cbor.decode(await answer.read())
        made["data"]["a"] = "2"
        async with session.put(f"{PATH}/mine", data=cbor.encode(made), headers=sent) as answer:
            assert answer.status == 200
        applied = {**ACCEPT, "Content-Type": "application/apply-patch+cbor"}
        async with session.patch(
            f"{PATH}/mine?fieldManager=me",
            data=cbor.encode(config_map("mine", b="3")),
            headers=applied,
        ) as answer:
            assert answer.status == 200
            found = cbor.decode(await answer.read())

    assert found["data"] == {"a": "2", "b": "3"}


async def test_bytes_of_a_secret_may_be_sent_as_bytes(server: ApiServer) -> None:
    secret = {"metadata": {"name": "s"}, "data": {"key": cbor2.CBORTag(22, b"hello")}}
    async with (
        asking(server) as session,
        session.post(
            "/api/v1/namespaces/default/secrets",
            data=cbor2.dumps(secret),
            headers={"Content-Type": CBOR},
        ) as answer,
    ):
        assert answer.status == 201, await answer.text()
        assert (await answer.json())["data"] == {"key": "aGVsbG8="}


BAD_BODIES = {
    "no CBOR": b"\xff\xff",
    "a key twice": b"\xa2\x41a\x01\x41a\x02",
    "too deep": b"\x81" * 1000,
    "a number": b"\x01",
    "a list of lists": b"\x9a\x00\x08\x00\x00" + b"\x80" * 0x80000,
    "JSON": json.dumps(config_map("json")).encode(),
}


@pytest.mark.parametrize("content_type", [CBOR, "application/apply-patch+cbor"])
@pytest.mark.parametrize("what", BAD_BODIES)
async def test_a_body_that_cannot_be_read_is_a_bad_request(
    server: ApiServer, what: str, content_type: str
) -> None:
    async with asking(server) as session:
        method, path = ("POST", PATH) if content_type == CBOR else ("PATCH", f"{PATH}/x")
        async with session.request(
            method,
            path,
            data=BAD_BODIES[what],
            headers={"Content-Type": content_type},
            params={} if method == "POST" else {"fieldManager": "me"},
        ) as answer:
            status = await answer.json()

    too_large = what == "a list of lists"
    assert answer.status == (413 if too_large else 400), status
    assert status["reason"] == ("RequestEntityTooLarge" if too_large else "BadRequest")


async def test_an_unknown_field_is_refused_by_its_name(server: ApiServer) -> None:
    odd = cbor.encode({**config_map("odd"), "oddity": 1})
    async with (
        asking(server) as session,
        session.post(
            f"{PATH}?fieldValidation=Strict",
            data=odd,
            headers={"Content-Type": CBOR},
        ) as answer,
    ):
        assert answer.status == 400
        assert 'unknown field "oddity"' in (await answer.json())["message"]


@pytest.mark.parametrize("accept", ["*/*", f"application/json, {CBOR}", f"{CBOR};q=0.5, */*"])
async def test_who_takes_json_as_gladly_gets_json(server: ApiServer, accept: str) -> None:
    async with (
        asking(server) as session,
        session.get(PATH, headers={"Accept": accept}) as answer,
    ):
        assert answer.headers["Content-Type"] == "application/json"
