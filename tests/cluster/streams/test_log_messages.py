"""A pod's log over a WebSocket, as browsers and Kubernetes' own tests read it."""

from __future__ import annotations

import asyncio
import base64
import ssl

import pytest
import websockets

from tests.cluster.streams.conftest import Stage

_PATH = "/api/v1/namespaces/default/pods/web/log"


def opened(stage: Stage, *protocols: str, query: str = "") -> websockets.connect:
    files = stage.server.api.credentials.tls
    assert files is not None
    return websockets.connect(
        stage.server.url.replace("https", "wss") + _PATH + query,
        ssl=ssl.create_default_context(cafile=str(files.authority.certificate)),
        subprotocols=[websockets.Subprotocol(one) for one in protocols] or None,
        additional_headers={"Authorization": f"Bearer {stage.server.token}"},
    )


@pytest.mark.parametrize("protocols", [[], ["binary.k8s.io"], ["other", "binary.k8s.io"]])
async def test_a_log_is_read_as_messages_of_bytes(stage: Stage, protocols: list[str]) -> None:
    pod = await stage.pod()
    await stage.streams.log(pod.uid).write("one", "two")

    async with asyncio.timeout(60), opened(stage, *protocols) as socket:
        said = [message async for message in socket]

    assert said[0] == b""
    assert b"".join(one for one in said if isinstance(one, bytes)) == b"one\ntwo\n"
    assert socket.subprotocol == (protocols[-1] if protocols else None)


async def test_a_log_is_read_as_messages_of_text(stage: Stage) -> None:
    pod = await stage.pod()
    await stage.streams.log(pod.uid).write("schön")

    async with asyncio.timeout(60), opened(stage, "base64.binary.k8s.io") as socket:
        said = [message async for message in socket]

    assert said[0] == ""
    assert b"".join(map(base64.b64decode, said)).decode() == "schön\n"


async def test_a_log_is_followed_until_its_reader_leaves(stage: Stage) -> None:
    pod = await stage.pod()
    log = stage.streams.log(pod.uid)

    async with asyncio.timeout(60), opened(stage, "binary.k8s.io", query="?follow=1") as socket:
        assert await socket.recv() == b""
        await log.write("late")
        assert await socket.recv() == b"late\n"

    async with asyncio.timeout(60):
        await log.unfollowed.wait()
    assert log.followers == 0


async def test_a_protocol_that_is_not_of_logs_is_refused(stage: Stage) -> None:
    await stage.pod()

    with pytest.raises(websockets.InvalidStatus) as refused:
        async with asyncio.timeout(60), opened(stage, "v5.channel.k8s.io"):
            pass

    assert refused.value.response.status_code == 403


async def test_what_is_wrong_with_the_request_is_said_before_the_handshake(stage: Stage) -> None:
    await stage.pod()

    with pytest.raises(websockets.InvalidStatus) as refused:
        async with asyncio.timeout(60), opened(stage, "binary.k8s.io", query="?container=none"):
            pass

    assert refused.value.response.status_code == 400
