"""SPDY inside a WebSocket, frame by frame, as no well-behaved client would send it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest_asyncio

from proreus.api.wire import channels, spdy
from proreus.api.wire.spdy import Data, Frame, Ping, Reset, SynReply, SynStream
from proreus.client.rest.request import RestRequest
from proreus.net.client.websocket import ClientWebSocket
from tests.cluster.streams.conftest import Stage
from tests.cluster.streams.test_port_forward import Web, web  # noqa: F401

CANCEL = 5


class Speaker:
    """One end of a tunnel."""

    def __init__(self, socket: ClientWebSocket) -> None:
        self.socket = socket
        self._reader, self._writer = spdy.FrameReader(), spdy.FrameWriter()
        self._waiting: list[Frame] = []

    async def record_event(self, *frames: Frame) -> None:
        await self.socket.send(b"".join(self._writer.encode(frame) for frame in frames))

    async def hear(self) -> Frame:
        while not self._waiting:
            async with asyncio.timeout(60):
                message = await self.socket.receive()
            assert isinstance(message, bytes)
            self._waiting += self._reader.feed(message)
        return self._waiting.pop(0)

    async def open(self, port: int, request: int = 0, first: int = 1) -> None:
        """Both streams of a request, and their replies."""
        for stream, kind in ((first, "error"), (first + 2, "data")):
            headers = {"streamType": kind, "port": str(port), "requestID": str(request)}
            await self.record_event(SynStream(stream, headers, is_last=kind == "error"))
            assert await self.hear() == SynReply(stream, {})


@pytest_asyncio.fixture
async def speaker(stage: Stage) -> AsyncIterator[Speaker]:
    await stage.pod()
    path = "/api/v1/namespaces/default/pods/web/portforward"
    request = RestRequest("get", "GET", path)
    async with stage.client.rest.open_websocket(request, [channels.SPDY_TUNNEL.name]) as socket:
        yield Speaker(socket)


async def test_a_ping_is_answered(speaker: Speaker) -> None:
    await speaker.record_event(Ping(7))

    assert await speaker.hear() == Ping(7)


async def test_a_stream_that_says_no_port_is_refused_alone(speaker: Speaker) -> None:
    await speaker.record_event(SynStream(1, {"streamtype": "data", "port": "x"}))
    await speaker.record_event(SynStream(3, {"streamtype": "made-up", "port": "80"}), Ping(9))

    assert [await speaker.hear() for _ in range(3)] == [
        Reset(1, spdy.REFUSED),
        Reset(3, spdy.REFUSED),
        Ping(9),
    ]


async def test_a_port_where_nobody_listens_ends_both_streams(speaker: Speaker) -> None:
    await speaker.open(1)

    failure = await speaker.hear()
    ends = [await speaker.hear(), await speaker.hear()]

    assert isinstance(failure, Data) and failure.stream == 1
    assert b"error forwarding port 1 to pod web" in failure.payload
    assert ends == [Data(3, b"", is_last=True), Data(1, b"", is_last=True)]


async def test_a_reset_closes_the_pod_s_connection(
    speaker: Speaker,
    web: Web,  # noqa: F811
) -> None:
    await speaker.open(web.port)
    await speaker.record_event(Data(3, b"GET / HTTP/1.1\r\n\r\n"))
    assert isinstance(await speaker.hear(), Data)
    assert web.open == 1

    await speaker.record_event(Reset(3, CANCEL))

    async with asyncio.timeout(60):
        await web.is_idle.wait()


async def test_requests_do_not_disturb_each_other(
    speaker: Speaker,
    web: Web,  # noqa: F811
) -> None:
    await speaker.open(web.port, request=0, first=1)
    await speaker.open(1, request=1, first=5)  # fails
    seen = 0

    await speaker.record_event(Data(3, b"GET / HTTP/1.1\r\n\r\n"))
    while seen < 1_000_000:
        frame = await speaker.hear()
        if isinstance(frame, Data) and frame.stream == 3:
            seen += len(frame.payload)
            assert not frame.is_last


async def test_what_is_no_spdy_ends_the_tunnel(
    speaker: Speaker,
    web: Web,  # noqa: F811
) -> None:
    await speaker.open(web.port)
    await speaker.socket.send(b"\x80\x02garbage that is no frame")

    async with asyncio.timeout(60):
        while await speaker.socket.receive() is not None:
            pass
        await web.is_idle.wait()
