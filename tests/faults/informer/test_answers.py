"""What servers and proxies answer: each refusal has its own reaction, and all end well."""

from __future__ import annotations

import pytest

from proreus.api.wire import json
from tests.faults.informer.meddler import answer, status, stream
from tests.faults.informer.scene import Scene, until

EXPIRED = status(410, "Expired", "too old resource version: 1 (999)")
BUSY = status(429, "TooManyRequests", "too many requests, please try again later")


def error_event(body: bytes) -> bytes:
    return b'{"type":"ERROR","object":%b}' % body


async def suffer(stage: Scene, *answers: bytes, to: str = "watch=") -> None:
    """Have the next requests answered so, while the collection changes."""
    stage.meddler.plan(*answers, to=to)
    await stage.churn()
    await until(lambda: stage.meddler.is_done)
    await stage.wait_equal()


async def test_410_as_an_http_answer(stage: Scene) -> None:
    """Guarantee: eventually equal"""
    await suffer(stage, answer("410 Gone", EXPIRED))

    assert "expired" in stage.causes


async def test_410_as_an_event(stage: Scene) -> None:
    """Guarantee: eventually equal"""
    await suffer(stage, stream(error_event(EXPIRED)))

    assert "expired" in stage.causes


async def test_410_as_a_bare_status_with_code_200(stage: Scene) -> None:
    """Guarantee: eventually equal. Some servers send it so, not even chunked."""
    await suffer(stage, answer("200 OK", EXPIRED))

    assert "expired" in stage.causes


async def test_429_with_and_without_a_time_to_wait(stage: Scene) -> None:
    """Guarantee: eventually equal"""
    await suffer(
        stage,
        answer("429 Too Many Requests", BUSY, "Retry-After: 1"),
        answer("429 Too Many Requests", BUSY),
    )

    assert "throttled" in stage.causes


@pytest.mark.parametrize("code", ["500 Internal Server Error", "503 Service Unavailable"])
async def test_a_proxys_own_error_page(stage: Scene, code: str) -> None:
    """Guarantee: eventually equal"""
    await suffer(stage, answer(code, b"<html>upstream is unwell</html>"))


async def test_401_and_403_are_not_final(stage: Scene) -> None:
    """Guarantee: eventually equal. Permissions come back, and so does the watch."""
    await suffer(
        stage,
        answer("401 Unauthorized", status(401, "Unauthorized", "Unauthorized")),
        answer("403 Forbidden", status(403, "Forbidden", "configmaps is forbidden")),
    )


@pytest.mark.parametrize(
    "noise",
    [
        b"this is not JSON",
        b'{"type":"EXPLODED","object":{}}',
        b'{"type":"ADDED"}',
        b'{"type":"ADDED","object":[]}',
        b"\x00\xff\xfe",
    ],
)
async def test_lines_that_are_no_events(stage: Scene, noise: bytes) -> None:
    """Guarantee: eventually equal"""
    await suffer(stage, stream(noise))


async def test_a_watch_that_ends_at_once_again_and_again(stage: Scene) -> None:
    """Guarantee: eventually equal. It is paced, not spun."""
    await suffer(stage, stream(), stream(), stream())

    assert len(stage.meddler.requests) < 40


async def test_a_line_of_two_megabytes(stage: Scene) -> None:
    """Guarantee: eventually equal. Line readers with a limit of 64 or 128 kB break here."""
    big = {
        "kind": "ConfigMap",
        "apiVersion": "v1",
        "metadata": {
            "name": "big",
            "namespace": stage.writer.namespace,
            "uid": "big",
            "resourceVersion": "1",
            "labels": {"scene": "true"},
        },
        "data": {"text": "ü" * 1_000_000},
    }
    first = b'{"type":"ADDED","object":%b}' % json.encode(big)
    stage.meddler.plan(stream(first, error_event(EXPIRED)))

    await stage.write("trigger")
    await stage.wait_cause("expired")

    assert len(first) > 2_000_000
    await stage.wait_equal()


async def test_large_objects_over_the_real_server(stage: Scene) -> None:
    """Guarantee: eventually equal"""
    for _ in range(3):
        await stage.write("large", text="ü" * 450_000)
        stage.proxy.cut()

    await stage.wait_equal()
    assert len(stage.informer.lister.get("large", stage.writer.namespace).raw) > 900_000
