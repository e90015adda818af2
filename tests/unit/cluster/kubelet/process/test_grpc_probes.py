"""gRPC probes ask a program by gRPC's health protocol."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import grpc
import pytest

from proreus.aio.clock import SystemClock
from proreus.cluster.kubelet.runtimes.process.handlers import Answer, HandlerTarget, call_handler
from tests.unit.cluster.kubelet.pods import pod_spec

CHECK = "/grpc.health.v1.Health/Check"


class Program(grpc.GenericRpcHandler):  # type: ignore[misc]  # grpc has no types
    """Answers with given bytes, and keeps what it was asked."""

    def __init__(self, answer: bytes, method: str = CHECK) -> None:
        self.answer = answer
        self.method = method
        self.asked: list[bytes] = []

    def service(self, details: Any) -> Any:
        return grpc.unary_unary_rpc_method_handler(self._check) if self._is_ours(details) else None

    def _is_ours(self, details: Any) -> bool:
        return bool(details.method == self.method)

    async def _check(self, request: bytes, _: Any) -> bytes:
        self.asked.append(request)
        return self.answer


@asynccontextmanager
async def serving(program: Program) -> AsyncIterator[int]:
    server = grpc.aio.server()
    server.add_generic_rpc_handlers((program,))
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    try:
        yield port
    finally:
        await server.stop(None)


async def ask(port: int, service: str | None = None) -> Answer:
    container = pod_spec({}).containers[0]
    target = HandlerTarget(container, "127.0.0.1", lambda _: pytest.fail(), SystemClock())
    return await call_handler({"grpc": {"port": port, "service": service}}, target, 60.0)


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (b"\x08\x01", ""),
        (b"\x08\x02", 'service unhealthy (responded with "NOT_SERVING")'),
        (b"\x08\x03", 'service unhealthy (responded with "SERVICE_UNKNOWN")'),
        (b"", 'service unhealthy (responded with "UNKNOWN")'),
        (b"\x08\x09", 'service unhealthy (responded with "9")'),
        (b"\x08\xff", 'service unhealthy (responded with "UNKNOWN")'),
        (b"\x12\x01a", 'service unhealthy (responded with "UNKNOWN")'),
    ],
)
async def test_a_program_is_healthy_if_it_says_that_it_serves(answer: bytes, said: str) -> None:
    async with serving(Program(answer)) as port:
        assert await ask(port) == Answer(not said, said)


@pytest.mark.parametrize(
    ("service", "request_bytes"),
    [(None, b""), ("", b""), ("db", b"\x0a\x02db"), ("x" * 200, b"\x0a\xc8\x01" + b"x" * 200)],
)
async def test_a_service_of_the_program_is_named(service: str | None, request_bytes: bytes) -> None:
    program = Program(b"\x08\x01")
    async with serving(program) as port:
        await ask(port, service)

    assert program.asked == [request_bytes]


async def test_a_program_that_does_not_know_the_protocol_is_not_healthy() -> None:
    async with serving(Program(b"", "/other/Method")) as port:
        answer = await ask(port)

    assert not answer.is_success
    assert "does not implement the grpc health protocol" in answer.text


async def test_a_program_that_does_not_listen_is_not_healthy() -> None:
    answer = await ask(1)

    assert not answer.is_success
    assert answer.text.startswith('timeout: failed to connect service "127.0.0.1:1" within 60s')
