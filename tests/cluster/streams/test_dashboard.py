"""Logs and commands in containers through the dashboard, over TLS as ``proreus up`` serves it."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator

import pytest_asyncio

from tests.cluster.streams.conftest import Stage
from tests.dashboard.browser import Browser, browsing

POD = "/api/api/v1/namespaces/default/pods/web"


@pytest_asyncio.fixture
async def browser(stage: Stage) -> AsyncIterator[Browser]:
    files = stage.server.api.credentials.tls
    assert files is not None
    tls = ssl.create_default_context(cafile=str(files.authority.certificate))
    async with browsing(stage.server, tls=tls) as opened:
        await opened.log_in(stage.server.token)
        yield opened


async def test_a_command_runs_over_a_websocket(stage: Stage, browser: Browser) -> None:
    await stage.pod()
    asked = f"{POD}/exec?command=cat&stdin=true&stdout=true&container=main"

    async with asyncio.timeout(60), browser.websocket(asked, "v5.channel.k8s.io") as socket:
        assert socket.protocol == "v5.channel.k8s.io"
        await socket.send_bytes(b"\x00hello")
        received = b""
        while received != b"hello":
            message = await socket.receive_bytes()
            assert message[:1] == b"\x01"
            received += message[1:]
        await socket.send_bytes(b"\xff\x00")  # the end of stdin
        status = await socket.receive_bytes()
        while not status.startswith(b"\x03"):
            status = await socket.receive_bytes()

    assert b'"Success"' in status


async def test_a_log_is_followed(stage: Stage, browser: Browser) -> None:
    pod = await stage.pod()
    log = stage.streams.log(pod.uid, "main")
    await log.write("first")

    async with asyncio.timeout(60), browser.stream(f"{POD}/log?follow=true") as answer:
        assert await answer.content.readline() == b"first\n"
        await log.write("second")
        assert await answer.content.readline() == b"second\n"
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        await log.end()
