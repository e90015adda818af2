"""HTTP/2 on a whole server: many watches on one connection, and clients that mean harm."""

from __future__ import annotations

import asyncio
import json
import os
import ssl
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from hpack import Encoder

from proreus.net.http2 import frames
from proreus.net.http2.connection import Http2Connection
from proreus.net.http2.frames import ErrorCode
from proreus.net.tls import issuing
from proreus.server.app import ApiServer
from proreus.server.config import ServerConfig
from tests.http2_client import Stream, connected_http2, trusting_anybody
from tests.kubectl import needs_kubectl
from tests.robustness.wire import CONFIG_MAPS, Connection, config_map, connected

pytestmark = pytest.mark.asyncio(loop_scope="module")
# Of one object each: tests share a server, and one leaves a list of megabytes behind.
WATCH = f"{CONFIG_MAPS}?watch=1&fieldSelector=metadata.name%3Dseen"
WATCH_LARGE = f"{CONFIG_MAPS}?watch=1&fieldSelector=metadata.name%3Dlarge"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def server(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[ApiServer]:
    folder = tmp_path_factory.mktemp("server")
    async with ApiServer(ServerConfig(data_dir=folder, tls=True)) as running:
        yield running


def trusting_http1() -> ssl.SSLContext:
    context = trusting_anybody()
    context.set_alpn_protocols(["http/1.1"])
    return context


async def create(connection: Connection, name: str, **values: str) -> None:
    answer = await connection.ask("POST", CONFIG_MAPS, config_map(name, **values))
    assert answer.code == 201, answer


async def update(connection: Connection, name: str, **values: str) -> None:
    answer = await connection.ask("PUT", f"{CONFIG_MAPS}/{name}", config_map(name, **values))
    assert answer.code == 200, answer


async def assert_alive(server: ApiServer) -> None:
    """Others are served, over either protocol."""
    async with connected(server, trusting_http1()) as connection:
        assert (await connection.ask("GET", "/livez")).body == b"ok"
    async with connected_http2(server.url, server.token) as client:
        assert (await client.ask("GET", "/livez")).body == b"ok"


def versions(stream: Stream, name: str) -> list[str]:
    """The values that a watch saw of one object."""
    events = [json.loads(line) for line in stream.body.splitlines() if line.endswith(b"}")]
    found = [event["object"] for event in events if event["type"] != "BOOKMARK"]
    return [o["data"]["n"] for o in found if o["metadata"]["name"] == name]


async def test_a_hundred_watches_are_one_connection(server: ApiServer) -> None:
    await _until_forgotten(server)  # connections of tests before
    async with (
        connected_http2(server.url, server.token) as client,
        connected(server, trusting_http1()) as writer,
    ):
        watches = [client.request("GET", WATCH) for _ in range(100)]
        await client.until(lambda: all(watch.code == 200 for watch in watches))
        await create(writer, "seen", n="1")
        await client.until(lambda: all(versions(watch, "seen") for watch in watches))

        (connection,) = _connections(server)
        assert len(connection.at_work) == 100
        assert [versions(watch, "seen") for watch in watches] == [["1"]] * 100


async def test_a_watch_that_is_not_read_neither_holds_up_others_nor_grows(
    server: ApiServer,
) -> None:
    async with (
        connected_http2(server.url, server.token) as client,
        connected(server, trusting_http1()) as writer,
    ):
        await create(writer, "large", n="-1", fill="x" * 100_000)
        client.h2.increment_flow_control_window(1 << 24)
        unread = client.request("GET", WATCH_LARGE)
        unread.is_read = False
        await client.until(lambda: unread.code == 200)
        read = client.request("GET", f"{WATCH_LARGE}&labelSelector=!x")
        await client.until(lambda: read.code == 200)
        client.h2.increment_flow_control_window(1 << 24, read.number)
        client.flush()
        largest = 0
        for number in range(60):
            await update(writer, "large", n=str(number), fill="x" * 100_000)
            largest = max(largest, *_waiting_bytes(server))

        await client.until(lambda: "59" in versions(read, "large"))
        assert largest < 2_000_000
        if not unread.is_over:
            client.h2.increment_flow_control_window(1 << 24, unread.number)
            client.flush()
        await client.until(lambda: unread.is_over or "59" in versions(unread, "large"))
        seen = [int(n) for n in versions(unread, "large") if n != "-1"]
        assert seen == list(range(len(seen)))  # nothing is left out before its end


def _connections(server: ApiServer) -> list[Http2Connection]:
    return [one for one in server.parts.http.connections if isinstance(one, Http2Connection)]


def _waiting_bytes(server: ApiServer) -> list[int]:
    """Of all streams of HTTP/2."""
    streams = [stream for one in _connections(server) for stream in one.at_work]
    return [stream.out.get_write_buffer_size() for stream in streams] or [0]


async def test_the_certificate_of_the_connection_says_who_asks(
    server: ApiServer, tmp_path: Path
) -> None:
    files = server.credentials.tls
    assert files is not None
    pair = issuing.issue_client(files.authority.read(), "jane", ["team"], now=server.clock.now())
    (tmp_path / "client.crt").write_bytes(pair.certificate)
    (tmp_path / "client.key").write_bytes(pair.key)
    context = trusting_anybody()
    context.load_cert_chain(tmp_path / "client.crt", tmp_path / "client.key")
    review = b'{"kind":"SelfSubjectReview","apiVersion":"authentication.k8s.io/v1"}'

    async with connected_http2(server.url, "", context) as client:
        path = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
        answers = await asyncio.gather(*(client.ask("POST", path, review) for _ in range(5)))

    users = [json.loads(answer.body)["status"]["userInfo"]["username"] for answer in answers]
    assert users == ["jane"] * 5


async def test_errors_and_bodies_are_those_of_http1(server: ApiServer) -> None:
    async with connected_http2(server.url, server.token) as client:
        for method, path, body in (
            ("GET", "/api/v1/namespaces/default", None),
            ("GET", f"{CONFIG_MAPS}/absent", None),
            ("POST", CONFIG_MAPS, b"{"),
            ("POST", CONFIG_MAPS, b" " * 4_000_000),
            ("BREW", CONFIG_MAPS, None),
            ("GET", "/apis", None),
        ):
            new_answer = await client.ask(method, path, body)
            async with connected(server, trusting_http1()) as old:
                old_answer = await old.ask(method, path, body)

            assert (new_answer.code, new_answer.body) == (old_answer.code, old_answer.body)
            own = {"audit-id", "date", "connection", "transfer-encoding"}
            assert {k: v for k, v in new_answer.headers.items() if k not in own} == {
                k: v for k, v in old_answer.headers.items() if k not in own
            }


class Frames:
    """Makes frames that no library would."""

    def __init__(self, token: str) -> None:
        self._encoder = Encoder()
        self._token = token
        self.last = -1  # the newest stream

    def head(self, path: str = WATCH, *, ends: bool = True, large: str = "") -> bytes:
        pairs = [
            (":method", "GET" if ends else "POST"),
            (":scheme", "https"),
            (":authority", "localhost"),
            (":path", path),
            ("authorization", f"Bearer {self._token}"),
            ("x-large", large),
        ]
        self.last += 2
        return frames.headers(self.last, self._encoder.encode(pairs), ends=ends)

    def taken_back(self) -> bytes:
        return self.head() + frames.rst_stream(self.last, ErrorCode.CANCEL)


START = frames.PREFACE + frames.settings()
PING = frames.frame_head(frames.PING, 0, 0, 8) + bytes(8)


def attack(what: str, makes: Frames) -> bytes:
    """What ends the connection."""
    match what:
        case "requests that are taken back at once":
            return b"".join(makes.taken_back() for _ in range(2_000))
        case "streams too many":
            return b"".join(makes.head() for _ in range(2_000))
        case "a header block without end":
            empty = frames.frame_head(frames.CONTINUATION, 0, 1, 0)
            return frames.frame_head(frames.HEADERS, 0, 1, 0) + empty * 100_000
        case "a header block of a megabyte":
            piece = frames.frame_head(frames.CONTINUATION, 0, 1, 16_384) + bytes(16_384)
            return frames.frame_head(frames.HEADERS, 0, 1, 0) + piece * 64
        case "a small block of many headers":
            added = makes.head("/readyz", large="y" * 3_000)
            return added + frames.headers(3, b"\xbe" * 16_000, ends=True)
        case "pings":
            return PING * 100_000
        case "settings":
            return frames.settings() * 100_000
        case "windows":
            return frames.window_update(0, 1) * 100_000
        case "empty data":
            empty = frames.frame_head(frames.DATA, 0, 1, 0)
            return makes.head(CONFIG_MAPS, ends=False) + empty * 100_000
        case "data behind the end of a request":
            piece = frames.frame_head(frames.DATA, 0, 1, 100) + bytes(100)
            return makes.head("/readyz") + piece * 2_000
        case "a frame of 16 MB":
            return frames.frame_head(frames.DATA, 0, 1, 0xFFFFFF) + bytes(100_000)
        case "noise":
            return bytes(range(256)) * 400
        case _:
            raise AssertionError(what)


def frames_of(data: bytes) -> list[tuple[int, bytes]]:
    """Types and payloads, as far as they came whole."""
    found, place = [], 0
    while len(data) - place >= frames.HEAD.size:
        high, low, kind, _, _ = frames.HEAD.unpack_from(data, place)
        end = place + frames.HEAD.size + (high << 8 | low)
        found.append((kind, data[place + frames.HEAD.size : end]))
        place = end
    return found


CALM = ErrorCode.ENHANCE_YOUR_CALM
ATTACKS = {
    "requests that are taken back at once": CALM,
    "streams too many": CALM,
    "a header block without end": CALM,
    "a header block of a megabyte": CALM,
    "a small block of many headers": ErrorCode.COMPRESSION_ERROR,
    "pings": CALM,
    "settings": CALM,
    "windows": CALM,
    "empty data": CALM,
    "data behind the end of a request": CALM,
    "a frame of 16 MB": ErrorCode.FRAME_SIZE_ERROR,
    "noise": ErrorCode.FRAME_SIZE_ERROR,
}


@pytest.mark.parametrize("what", ATTACKS)
async def test_a_client_that_means_harm_is_sent_away_and_others_are_served(
    server: ApiServer, what: str
) -> None:
    async with connected(server, trusting_anybody()) as connection:
        await connection.send(START)
        await connection.send(attack(what, Frames(server.token)))
        said = frames_of(await connection.rest())

    farewells = [payload for kind, payload in said if kind == frames.GOAWAY]
    assert [int.from_bytes(payload[4:8], "big") for payload in farewells] == [ATTACKS[what]]
    await assert_alive(server)
    await _until_forgotten(server)


async def test_clients_whose_windows_are_shut_cost_no_more_than_their_streams(
    server: ApiServer,
) -> None:
    async with connected(server, trusting_http1()) as writer:
        for number in range(130):  # a list of 1.3 MB
            await create(writer, f"listed-{number}", fill="x" * 10_000)
    makes = Frames(server.token)
    async with connected(server, trusting_anybody()) as connection:
        await connection.send(
            frames.PREFACE
            + frames.settings((frames.INITIAL_WINDOW_SIZE, 0))
            + b"".join(makes.head(CONFIG_MAPS) for _ in range(100))
        )
        heads = 0
        while heads < 100:
            heads += sum(kind == frames.HEADERS for kind, _ in await _frames(connection))

        assert max(_waiting_bytes(server)) <= 256 * 1024
        await assert_alive(server)


async def _frames(connection: Connection) -> list[tuple[int, bytes]]:
    head = await connection.exactly(frames.HEAD.size)
    high, low, kind, _, _ = frames.HEAD.unpack(head)
    return [(kind, await connection.exactly(high << 8 | low))]


async def test_a_client_that_pings_and_does_not_read_is_dropped(server: ApiServer) -> None:
    async with connected(server, trusting_anybody(), buffer_bytes=1) as connection:
        connection.stop_reading()
        await connection.send(START)
        await connection.send(PING * 900)
        await connection.send(Frames(server.token).head("/readyz"))
    await assert_alive(server)
    await _until_forgotten(server)


HALVES = {
    "nothing": b"",
    "half a preface": frames.PREFACE[:10],
    "a preface": frames.PREFACE,
    "half a frame": START + PING[:11],
    "half a header block": START + frames.frame_head(frames.HEADERS, 0, 1, 1) + b"\x82",
    "half a body": START + Frames("x").head(CONFIG_MAPS, ends=False),
    "a watch": START + Frames("x").head(),
}


@pytest.mark.parametrize("what", HALVES)
async def test_a_client_that_vanishes_in_the_middle_leaves_nothing_behind(
    server: ApiServer, what: str
) -> None:
    async with connected(server, trusting_anybody()) as connection:
        await connection.send(HALVES[what])
        connection.vanish()
    await _until_forgotten(server)
    await assert_alive(server)


async def _until_forgotten(server: ApiServer) -> None:
    """Until no connection and no watch of anybody is left."""
    async with asyncio.timeout(60):
        while server.parts.http.connections:  # noqa: ASYNC110 - another's set, which tells nobody
            await asyncio.sleep(0.01)


async def test_a_share_of_answers_sends_clients_to_a_new_connection(tmp_path: Path) -> None:
    """At the largest share; that 2,000 answers have none is as likely as 1 to 10^17."""
    config = ServerConfig(data_dir=tmp_path, tls=True, goaway_chance=0.02)
    async with ApiServer(config) as server, connected_http2(server.url, server.token) as client:
        answers = 0
        while client.goaway is None and answers < 2_000:
            assert (await client.ask("GET", "/livez/ping")).body == b"ok"
            answers += 1

        assert client.goaway == ErrorCode.NO_ERROR
        async with connected_http2(server.url, server.token) as following:
            assert (await following.ask("GET", "/livez/ping")).body == b"ok"


@needs_kubectl
async def test_kubectl_does_not_notice_that_every_answer_sends_it_to_a_new_connection(
    tmp_path: Path,
) -> None:
    kubeconfig = tmp_path / "kubeconfig"
    config = ServerConfig(data_dir=tmp_path, tls=True, kubeconfig=kubeconfig, goaway_chance=1)
    maps = {"apiVersion": "v1", "kind": "List", "items": [
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": f"c{n}"}} for n in range(9)
    ]}  # fmt: skip
    async with ApiServer(config):
        for _ in range(2):
            done = await kubectl(tmp_path, json.dumps(maps), "apply", "-f", "-")
            assert len(done.splitlines()) == 9
        left = await kubectl(tmp_path, "", "get", "configmaps", "-o", "name")

    assert left.split() == [f"configmap/c{n}" for n in range(9)]


async def kubectl(folder: Path, given: str, *arguments: str) -> str:
    environment = {**os.environ, "KUBECONFIG": str(folder / "kubeconfig"), "HOME": str(folder)}
    process = await asyncio.create_subprocess_exec(
        "kubectl", *arguments, env=environment, stdin=PIPE, stdout=PIPE, stderr=PIPE
    )
    async with asyncio.timeout(60):
        said, failed = await process.communicate(given.encode())
    assert not process.returncode, failed
    return said.decode()
