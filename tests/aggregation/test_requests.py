"""What another API server is sent, and what of its answers comes back."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from urllib.parse import urlsplit

import httpx
import pytest

from proreus.server.config import ServerConfig
from proreus.server.registry.user import MASTERS, User
from proreus.testing.server import RunningServer, running_server
from tests.aggregation.raw_backend import Asked, RawBackend
from tests.aggregation.world import (
    APISERVICES,
    WIDGETS,
    add_external,
    api_service,
    asking,
    made,
    until_reason,
)
from tests.closing import all_closed

ROOT_USER = User(
    "root", (MASTERS, "system:authenticated"), "uid-1", {"example.com/Team": ("a", "b")}
)
TOKEN = "root-token"


@pytest.fixture
async def front() -> AsyncIterator[RunningServer]:
    """In memory, plain HTTP: it has no certificate to show."""
    async with running_server(ServerConfig(tokens={TOKEN: ROOT_USER})) as running:
        yield running
    await all_closed()


@pytest.fixture
async def client(front: RunningServer) -> AsyncIterator[httpx.AsyncClient]:
    async with asking(front, TOKEN) as made_client:
        yield made_client


@pytest.fixture
async def backend(client: httpx.AsyncClient) -> AsyncIterator[RawBackend]:
    async with RawBackend().running() as running:
        await add_external(client)
        authority = running.authority.cert_pem.bytes()
        await made(client, APISERVICES, api_service(authority, port=running.port))
        await until_reason(client, "Passed")
        yield running


async def test_it_receives_who_asks_and_no_credentials(
    client: httpx.AsyncClient, backend: RawBackend
) -> None:
    @backend.then
    async def answer(asked: Asked) -> None:
        await asked.answer("200 OK", "{}")

    answered = await client.get(
        f"{WIDGETS}/one?fieldManager=a%20b",
        headers={
            "X-Remote-User": "somebody",
            "X-Remote-Group": "system:masters",
            "X-Remote-Extra-Scopes": "all",
            "Connection": "X-Hop",
            "X-Hop": "1",
            "TE": "trailers",
            "X-Custom": "kept",
            "Accept-Encoding": "gzip",
        },
    )

    (asked,) = backend.asked
    sent = asked.headers
    assert asked.line == f"GET {WIDGETS}/one?fieldManager=a%20b HTTP/1.1"
    assert sent["x-remote-user"] == ["root"]
    assert sent["x-remote-uid"] == ["uid-1"]
    assert sent["x-remote-group"] == ["system:masters", "system:authenticated"]
    assert sent["x-remote-extra-example.com%2fteam"] == ["a", "b"]
    assert sent["x-custom"] == ["kept"]
    assert sent["x-forwarded-for"] == ["127.0.0.1"]
    assert sent["audit-id"] == [answered.headers["Audit-Id"]]
    assert sent["host"] == [f"widgets.default.svc:{backend.port}"]
    unwanted = {"authorization", "x-hop", "te", "x-remote-extra-scopes", "connection"}
    assert not unwanted & sent.keys()


async def test_who_acts_as_another_user_is_that_user_there(
    client: httpx.AsyncClient, backend: RawBackend
) -> None:
    @backend.then
    async def answer(asked: Asked) -> None:
        await asked.answer("200 OK", "{}")

    await client.get(WIDGETS, headers={"Impersonate-User": "zoe", "Impersonate-Group": MASTERS})

    (asked,) = backend.asked
    assert asked.headers["x-remote-user"] == ["zoe"]
    assert asked.headers["x-remote-group"] == [MASTERS, "system:authenticated"]
    assert not [name for name in asked.headers if name.startswith("impersonate-")]


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
async def test_a_body_goes_along(
    client: httpx.AsyncClient, backend: RawBackend, method: str
) -> None:
    bodies: list[bytes] = []

    @backend.then
    async def answer(asked: Asked) -> None:
        length = int(asked.headers["content-length"][0])
        bodies.append(await asked.reader.readexactly(length))
        await asked.answer("201 Created", "made", "Content-Type: text/odd", "Warning: 299 - \"a\"",
                           "Warning: 299 - \"b\"", "Connection: X-Hop", "X-Hop: 1")  # fmt: skip

    answered = await client.request(method, f"{WIDGETS}/one", content=b"a body")

    assert bodies == [b"a body"]
    assert (answered.status_code, answered.text) == (201, "made")
    assert answered.headers["Content-Type"] == "text/odd"
    assert answered.headers.get_list("Warning") == ['299 - "a"', '299 - "b"']
    assert "X-Hop" not in answered.headers


async def test_head_and_empty_answers_have_no_body(
    client: httpx.AsyncClient, backend: RawBackend
) -> None:
    @backend.then
    async def answer(asked: Asked) -> None:
        if asked.line.startswith("HEAD"):
            await asked.say("HTTP/1.1 200 OK\r\nContent-Length: 12\r\n\r\n")
        else:
            await asked.say("HTTP/1.1 204 No Content\r\n\r\n")

    head = await client.head(f"{WIDGETS}/one")
    empty = await client.delete(f"{WIDGETS}/one")

    assert (head.status_code, head.headers["Content-Length"]) == (200, "12")
    assert (empty.status_code, empty.content) == (204, b"")


async def test_its_errors_and_compressed_bodies_are_passed_on_as_they_are(
    client: httpx.AsyncClient, backend: RawBackend
) -> None:
    @backend.then
    async def answer(asked: Asked) -> None:
        await asked.answer("418 Teapot", "no gzip", "Content-Encoding: x-odd", 'Etag: "1"')

    answered = await client.get(f"{WIDGETS}/one")

    assert (answered.status_code, answered.content) == (418, b"no gzip")
    assert (answered.headers["Content-Encoding"], answered.headers["Etag"]) == ("x-odd", '"1"')


async def test_a_redirect_is_not_followed(client: httpx.AsyncClient, backend: RawBackend) -> None:
    @backend.then
    async def answer(asked: Asked) -> None:
        await asked.answer("302 Found", "", "Location: https://127.0.0.1:1/secrets")

    answered = await client.get(f"{WIDGETS}/one")

    assert answered.status_code == 502
    why = "the backend attempted to redirect this request, which is not permitted"
    assert answered.text == why
    assert "Location" not in answered.headers


@pytest.mark.parametrize("protocol", ["SPDY/3.1", "websocket"])
async def test_another_protocol_goes_through_both_ways(
    front: RunningServer, backend: RawBackend, protocol: str
) -> None:
    """As exec needs it; the bytes are nobody's but theirs."""

    @backend.then
    async def answer(asked: Asked) -> None:
        await asked.say(
            f"HTTP/1.1 101 Switching Protocols\r\nUpgrade: {protocol}\r\nConnection: Upgrade\r\n"
            "X-Stream-Protocol-Version: v4.channel.k8s.io\r\n\r\nwelcome\n"
        )
        while piece := await asked.reader.read(65536):
            await asked.say(piece.upper())
            if piece.endswith(b"bye\n"):
                asked.writer.close()

    place = urlsplit(front.url)
    reader, writer = await asyncio.open_connection(place.hostname, place.port)
    bearer = "base64url.bearer.authorization.k8s.io.cm9vdC10b2tlbg"
    writer.write(
        f"POST {WIDGETS}/one/exec?command=sh HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\n"
        f"Authorization: Bearer {TOKEN}\r\nUpgrade: {protocol}\r\n"
        f"Sec-WebSocket-Protocol: {bearer}, v5.channel.k8s.io\r\n\r\n".encode()
    )
    async with asyncio.timeout(60):
        head = await reader.readuntil(b"\r\n\r\n")
        greeting = await reader.readline()
        writer.write(b"x" * 1_000_000 + b"bye\n")
        rest = await reader.read()
        writer.close()
        await writer.wait_closed()

    assert head.startswith(b"HTTP/1.1 101 Switching Protocols\r\n")
    assert b"X-Stream-Protocol-Version: v4.channel.k8s.io\r\n" in head
    assert greeting == b"welcome\n"
    assert rest == b"X" * 1_000_000 + b"BYE\n"
    (asked,) = backend.asked
    assert asked.headers["upgrade"] == [protocol]
    assert asked.headers["x-remote-user"] == ["root"]
    assert asked.headers["sec-websocket-protocol"] == ["v5.channel.k8s.io"]
    assert "authorization" not in asked.headers


async def test_an_upgrade_that_is_refused_is_answered_as_it_was_refused(
    client: httpx.AsyncClient, backend: RawBackend
) -> None:
    @backend.then
    async def answer(asked: Asked) -> None:
        await asked.say(
            "HTTP/1.1 403 Forbidden\r\nTransfer-Encoding: chunked\r\n\r\n"
            "3\r\nnot\r\n5\r\n here\r\n0\r\n\r\n"
        )

    answered = await client.post(
        f"{WIDGETS}/one/exec", headers={"Connection": "Upgrade", "Upgrade": "SPDY/3.1"}
    )

    assert (answered.status_code, answered.text) == (403, "not here")
