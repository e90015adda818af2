"""What ``net`` uses of the private parts of aiohttp and ``ssl`` is there, and shaped as used.

A version of aiohttp in which one of these fails is not to be let in by ``pyproject.toml``.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from pathlib import Path

import pytest
from aiohttp._websocket.reader import WebSocketDataQueue
from aiohttp.http_websocket import WebSocketReader

from proreus.net.tls import certificates

MASKED_BINARY = b"\x82\x84\0\0\0\0"


class Flow:
    """What a WebSocket's queue asks of the connection that feeds it."""

    def __init__(self) -> None:
        self._reading_paused = False

    def pause_reading(self) -> None:
        self._reading_paused = True

    def resume_reading(self) -> None:
        self._reading_paused = False


async def test_a_queue_of_messages_holds_up_its_connection_and_lets_it_go_on() -> None:
    flow = Flow()
    loop = asyncio.get_running_loop()
    queue = WebSocketDataQueue(flow, 64, loop=loop)  # type: ignore[arg-type]  # as used
    reader = WebSocketReader(queue, 1024, compress=False, decode_text=True)

    for _ in range(100):
        reader.feed_data(MASKED_BINARY + b"data")
    was_paused = flow._reading_paused
    messages = [await queue.read() for _ in range(100)]

    assert was_paused
    assert not flow._reading_paused
    assert {message.data for message in messages} == {b"data"}


def test_ssl_reads_the_fields_of_a_certificate_file(tmp_path: Path) -> None:
    pair = certificates.ensure_self_signed(tmp_path, "kubelet", ["127.0.0.1"], now=1.8e9)

    found = ssl._ssl._test_decode_cert(str(pair.certificate))  # type: ignore[attr-defined]

    assert found["subject"] == ((("commonName", "proreus-server"),),)
    assert found["subjectAltName"] == (("IP Address", "127.0.0.1"),)
    assert ssl.cert_time_to_seconds(found["notAfter"]) > 1.8e9


def test_a_tls_socket_reads_and_writes_by_an_object_of_its_own() -> None:
    here, there = socket.socketpair()
    with here, there:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        wrapped = context.wrap_socket(here, do_handshake_on_connect=False)
        with wrapped:
            wrapped.setblocking(False)

            inner = wrapped._sslobj  # type: ignore[attr-defined]

            with pytest.raises(ssl.SSLWantReadError):
                inner.read(1)
            assert callable(inner.write)
