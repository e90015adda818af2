"""A WebSocket that breaks its rules ends alone; what a client sends is read and dropped."""

from __future__ import annotations

import asyncio
import base64
import itertools
import json
import struct
from collections.abc import AsyncIterator

import pytest

from proreus.server.app import ApiServer
from tests.robustness import wire

WATCH = f"{wire.CONFIG_MAPS}?watch=1"
WATCHING = "apiserver_longrunning_requests"
HANDSHAKE = {
    "Connection": "Upgrade",
    "Upgrade": "websocket",
    "Sec-WebSocket-Version": "13",
    "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
    "Origin": "http://localhost",
}
CONTINUED, TEXT, BINARY, CLOSE, PING, PONG = 0x0, 0x1, 0x2, 0x8, 0x9, 0xA


def frame(opcode: int, payload: bytes = b"", *, final: bool = True, masked: bool = True) -> bytes:
    head = bytes([opcode | (0x80 if final else 0)])
    mask = 0x80 if masked else 0
    if len(payload) < 126:
        head += bytes([mask | len(payload)])
    else:
        head += bytes([mask | 126]) + struct.pack(">H", len(payload))
    return head + (bytes(4) if masked else b"") + payload


async def message(connection: wire.Connection) -> tuple[int, bytes]:
    """The server's next frame: opcode and payload."""
    first, size = await connection.exactly(2)
    if size == 126:
        (size,) = struct.unpack(">H", await connection.exactly(2))
    elif size == 127:
        (size,) = struct.unpack(">Q", await connection.exactly(8))
    return first & 0x0F, await connection.exactly(size)


@pytest.fixture
async def socket(server: ApiServer) -> AsyncIterator[wire.Connection]:
    async with wire.connected(server) as connection:
        answer = await connection.ask("GET", WATCH, None, HANDSHAKE.items())
        assert answer.code == 101, answer
        await wire.until(server, WATCHING, 1)
        yield connection


BAD_HANDSHAKES: dict[str, tuple[dict[str, str | None], int]] = {
    "no key": ({"Sec-WebSocket-Key": None}, 400),
    "a key that is no base64": ({"Sec-WebSocket-Key": "???"}, 400),
    "a short key": ({"Sec-WebSocket-Key": "YQ=="}, 400),
    "no version": ({"Sec-WebSocket-Version": None}, 400),
    "an old version": ({"Sec-WebSocket-Version": "7"}, 400),
    "no origin": ({"Origin": None}, 403),
    "two protocols": ({"Sec-WebSocket-Protocol": "a, b"}, 400),
}


async def shake(server: ApiServer, changes: dict[str, str | None]) -> wire.Answer:
    headers = [(k, v) for k, v in {**HANDSHAKE, **changes}.items() if v is not None]
    return await wire.ask(server, "GET", WATCH, None, headers)


@pytest.mark.parametrize("what", BAD_HANDSHAKES)
async def test_a_bad_handshake_is_refused_and_leaves_no_watch(server: ApiServer, what: str) -> None:
    changes, code = BAD_HANDSHAKES[what]

    answer = await shake(server, changes)

    assert answer.code == code, answer
    await wire.until(server, WATCHING, 0)
    await wire.assert_alive(server)


async def test_a_token_among_the_protocols_is_not_the_one_chosen(server: ApiServer) -> None:
    token = "base64url.bearer.authorization.k8s.io.dG9rZW4"

    answer = await shake(server, {"Sec-WebSocket-Protocol": f"{token}, base64.binary.k8s.io"})

    assert answer.code == 101, answer
    assert answer.headers["sec-websocket-protocol"] == "base64.binary.k8s.io"


@pytest.mark.parametrize(("upgrade", "code"), [("websocket", 101), ("", 403)])
async def test_a_token_among_the_protocols_counts_only_on_a_websocket(
    server: ApiServer, upgrade: str, code: int
) -> None:
    token = base64.urlsafe_b64encode(server.token.encode()).decode().rstrip("=")
    offered = f"base64url.bearer.authorization.k8s.io.{token}, a"

    answer = await shake(
        server,
        {"Authorization": "", "Upgrade": upgrade or None, "Sec-WebSocket-Protocol": offered},
    )

    assert answer.code == code, answer


@pytest.mark.parametrize("connection", [None, "close", "keep-alive"])
async def test_an_upgrade_not_asked_for_on_the_connection_is_a_plain_watch(
    server: ApiServer, connection: str | None
) -> None:
    async with wire.connected(server) as client:
        headers = {**HANDSHAKE, "Connection": connection or "x"}
        await client.send(client.head("GET", WATCH, headers.items()))
        code, answered = await client.answer_head()

    assert (code, answered["content-type"]) == (200, "application/json")
    await wire.until(server, WATCHING, 0)


BAD_FRAMES = {
    "an unknown opcode": frame(0x3),
    "an unknown control opcode": frame(0xB),
    "reserved bits": bytes([0xF1, 0x80]) + bytes(4),
    "a ping of 126 bytes": frame(PING, b"x" * 126),
    "a ping in pieces": frame(PING, final=False),
    "a rest without a start": frame(CONTINUED, b"x"),
    "a start within a message": frame(TEXT, b"x", final=False) + frame(TEXT, b"x"),
    "text that is no UTF-8": frame(TEXT, b"\xff\xfe"),
    "a message of 8 EB": bytes([0x82, 0xFF]) + b"\x7f" + b"\xff" * 7 + bytes(4),
    "a message of 16 MB": bytes([0x82, 0xFF]) + struct.pack(">Q", 16 << 20) + bytes(100_000),
    "a message without end": frame(BINARY, bytes(60_000), final=False)
    + frame(CONTINUED, bytes(60_000), final=False) * 20,
    "a close with half a code": frame(CLOSE, b"\x03"),
    "a close with a bad code": frame(CLOSE, struct.pack(">H", 5)),
    "random bytes": bytes(range(255, 0, -1)) * 10,
}


@pytest.mark.parametrize("what", BAD_FRAMES)
async def test_a_bad_frame_ends_only_that_watch(
    server: ApiServer, socket: wire.Connection, what: str
) -> None:
    async with wire.connected(server) as neighbour:
        await neighbour.send(neighbour.head("GET", WATCH))
        assert (await neighbour.answer_head())[0] == 200
        await wire.until(server, WATCHING, 2)

        await socket.send(BAD_FRAMES[what])
        await socket.rest()

        await wire.until(server, WATCHING, 1)
        await wire.ask(server, "POST", wire.CONFIG_MAPS, wire.config_map("a"))
        event = json.loads(await anext(neighbour.chunks()))
        assert event["object"]["metadata"]["name"] == "a"


async def test_what_a_client_sends_is_dropped(server: ApiServer, socket: wire.Connection) -> None:
    await socket.send(frame(TEXT, b"x" * 60_000) * 20 + frame(BINARY, b"\xff") + frame(PONG))

    await wire.ask(server, "POST", wire.CONFIG_MAPS, wire.config_map("a"))

    opcode, payload = await message(socket)
    assert opcode == TEXT
    assert json.loads(payload)["type"] == "ADDED"


async def test_a_frame_without_a_mask_breaks_the_protocol(
    server: ApiServer, socket: wire.Connection
) -> None:
    await socket.send(frame(TEXT, b"x") + frame(TEXT, b"x", masked=False) + frame(PING))

    assert await message(socket) == (CLOSE, struct.pack(">H", 1002))
    assert await socket.rest() == b""
    await wire.until(server, WATCHING, 0)


async def test_pings_are_answered_while_the_watch_goes_on(
    server: ApiServer, socket: wire.Connection
) -> None:
    for number in range(100):
        await socket.send(frame(PING, str(number).encode()))
    pongs = [await message(socket) for _ in range(100)]

    await wire.ask(server, "POST", wire.CONFIG_MAPS, wire.config_map("a"))

    assert pongs == [(PONG, str(number).encode()) for number in range(100)]
    assert json.loads((await message(socket))[1])["object"]["metadata"]["name"] == "a"


async def test_a_client_that_pings_and_never_reads_the_answers_is_dropped(
    server: ApiServer, socket: wire.Connection
) -> None:
    socket.stop_reading()
    flood = frame(PING, b"x" * 125) * 1_000

    async with asyncio.timeout(wire.PATIENCE_S):
        while await wire.measured(server, WATCHING):
            await socket.send(flood)

    await wire.assert_alive(server)


async def test_a_close_is_answered_and_ends_the_watch(
    server: ApiServer, socket: wire.Connection
) -> None:
    await socket.send(frame(CLOSE, struct.pack(">H", 1000)))

    opcode, _ = await message(socket)

    assert opcode == CLOSE
    assert await socket.rest() == b""
    await wire.until(server, WATCHING, 0)


async def test_a_client_that_stops_reading_is_dropped_alone(
    server: ApiServer, socket: wire.Connection
) -> None:
    socket.stop_reading()
    numbers = itertools.count()
    while await wire.measured(server, WATCHING):  # as many as the buffers between them and us hold
        body = wire.config_map(f"large-{next(numbers)}", x="y" * 900_000)
        assert (await wire.ask(server, "POST", wire.CONFIG_MAPS, body)).code == 201

    await wire.assert_alive(server)


async def test_a_frame_sent_together_with_the_handshake_is_read(server: ApiServer) -> None:
    async with wire.connected(server) as connection:
        head = connection.head("GET", WATCH, HANDSHAKE.items())

        await connection.send(head + frame(PING, b"early"))
        code, _ = await connection.answer_head()

        assert code == 101
        assert await message(connection) == (PONG, b"early")
