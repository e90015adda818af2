"""Back ends take events away in order; what they cannot take is counted, and nobody waits."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from proreus.aio.clock import SystemClock
from proreus.api.wire import json
from proreus.net.http1.messages import Answer, Request, Response
from proreus.net.http1.server import HttpServer
from proreus.server.audit.auditor import backend_running
from proreus.server.audit.backlog import Backlog
from proreus.server.audit.event import PREFIX
from proreus.server.audit.gathering import Gathering
from proreus.server.audit.log_backend import LogBackend
from proreus.server.audit.log_file import LogFile, Loss
from proreus.server.audit.metrics import AuditMetrics
from proreus.server.audit.options import LOG_DEFAULTS, WEBHOOK_DEFAULTS, LogLimits
from proreus.server.audit.webhook_backend import ATTEMPTS, WebhookBackend
from proreus.server.offload import INLINE
from proreus.server.prometheus import CollectorRegistry
from proreus.server.webhooks.kubeconfig import WebhookAddress
from proreus.testing.virtual_clock import VirtualClock
from tests.ports import dead_port


def event(number: int) -> bytes:
    return PREFIX + b'"auditID":"%d"}' % number


def metrics() -> AuditMetrics:
    return AuditMetrics(CollectorRegistry())


def log_backend(
    file: LogFile, clock: VirtualClock, counted: AuditMetrics, **limits: int
) -> LogBackend:
    backlog = Backlog("log", counted, **limits)
    return LogBackend(Gathering(backlog, LOG_DEFAULTS, clock), file, INLINE)


class FailingFile(LogFile):
    def write(self, lines: Sequence[bytes]) -> Loss | None:
        return Loss(len(lines), "No space left on device")


async def test_a_log_holds_every_event_in_order_when_the_server_has_stopped(
    tmp_path: Path,
) -> None:
    path, clock = tmp_path / "audit.log", VirtualClock()
    backend = log_backend(LogFile(path, LogLimits(), clock.now), clock, metrics())

    async with backend_running(backend):
        for number in range(3):
            backend.backlog.offer(event(number))
        await clock.advance(1)
        backend.backlog.offer(event(3))

    assert path.read_bytes() == b"".join(event(number) + b"\n" for number in range(4))


async def test_events_a_disk_refuses_are_counted(tmp_path: Path) -> None:
    clock, counted = VirtualClock(), metrics()
    file = FailingFile(tmp_path / "audit.log", LogLimits(), clock.now)
    backend = log_backend(file, clock, counted)

    async with backend_running(backend):
        backend.backlog.offer(event(1))
        backend.backlog.offer(event(2))

    assert counted.errors["log"] == 2


@pytest.mark.parametrize("limit", [{"events_max": 2}, {"bytes_max": 2 * len(event(0))}])
async def test_events_for_which_there_is_no_room_are_counted_and_the_others_kept(
    tmp_path: Path, limit: dict[str, int]
) -> None:
    path, clock, counted = tmp_path / "audit.log", VirtualClock(), metrics()
    file = LogFile(path, LogLimits(), clock.now)
    backend = log_backend(file, clock, counted, **limit)

    async with backend_running(backend):
        for number in range(5):
            backend.backlog.offer(event(number))

    assert counted.errors["log"] == 3
    assert path.read_bytes() == event(0) + b"\n" + event(1) + b"\n"


class Receiver:
    """A webhook: keeps what it is sent, answers with ``codes`` and then 200."""

    def __init__(self) -> None:
        self.codes: list[int] = []
        self.authorizations: list[str] = []
        self.batches: asyncio.Queue[list[str]] = asyncio.Queue()
        self.url = ""

    async def handle(self, request: Request) -> Answer:
        body = json.decode(await request.read_body(1 << 24))
        assert (body["kind"], body["apiVersion"]) == ("EventList", "audit.k8s.io/v1")
        assert all("kind" not in item for item in body["items"])
        self.authorizations.append(request.headers.get("Authorization", ""))
        self.batches.put_nowait([item["auditID"] for item in body["items"]])
        return Response(self.codes.pop(0) if self.codes else 200, ())

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[Receiver]:
        server = HttpServer(self.handle, SystemClock(), "127.0.0.1", 0)
        async with server.run():
            self.url = f"http://127.0.0.1:{server.port}/audit"
            yield self

    def backend(self, clock: VirtualClock, counted: AuditMetrics, **limits: int) -> WebhookBackend:
        address = WebhookAddress(self.url, None, None, {"Authorization": "Bearer secret"})
        backlog = Backlog("webhook", counted, **limits)
        return WebhookBackend(Gathering(backlog, WEBHOOK_DEFAULTS, clock), address, clock)


async def test_a_webhook_gets_a_batch_when_it_is_full_or_has_waited_long_enough() -> None:
    clock, counted = VirtualClock(), metrics()
    async with Receiver().serving() as receiver:
        backend = receiver.backend(clock, counted, batch_events=2)
        async with backend_running(backend):
            backend.backlog.offer(event(0))
            backend.backlog.offer(event(1))
            assert await receiver.batches.get() == ["0", "1"]

            backend.backlog.offer(event(2))
            await clock.settle()
            assert receiver.batches.empty()
            assert await advanced_until_sent(receiver, clock) == ["2"]

    assert receiver.authorizations == ["Bearer secret"] * 2
    assert counted.errors["webhook"] == 0


async def test_what_waits_when_the_server_stops_is_sent() -> None:
    clock, counted = VirtualClock(), metrics()
    async with Receiver().serving() as receiver:
        backend = receiver.backend(clock, counted)
        async with backend_running(backend):
            backend.backlog.offer(event(0))
            backend.backlog.offer(event(1))

        assert receiver.batches.get_nowait() == ["0", "1"]
    assert counted.errors["webhook"] == 0


async def test_a_batch_that_is_refused_is_sent_again_and_at_last_counted_as_lost() -> None:
    clock, counted = VirtualClock(), metrics()
    async with Receiver().serving() as receiver:
        receiver.codes = [503] * ATTEMPTS
        backend = receiver.backend(clock, counted, batch_events=1)
        async with backend_running(backend):
            backend.backlog.offer(event(0))
            for _ in range(ATTEMPTS):
                assert await advanced_until_sent(receiver, clock) == ["0"]
            backend.backlog.offer(event(1))
            assert await advanced_until_sent(receiver, clock) == ["1"]

    assert counted.errors["webhook"] == 1


async def test_a_webhook_that_is_not_there_loses_events_and_holds_up_nobody() -> None:
    clock, counted = VirtualClock(), metrics()
    receiver = Receiver()
    with dead_port() as port:
        receiver.url = f"http://127.0.0.1:{port}/audit"
        backend = receiver.backend(clock, counted, events_max=3, batch_events=3)

        async with backend_running(backend):
            for number in range(5):
                backend.backlog.offer(event(number))

    assert counted.errors["webhook"] == 5


async def advanced_until_sent(receiver: Receiver, clock: VirtualClock) -> list[str]:
    """Retries wait on the virtual clock, answers come over a real socket."""
    sent = asyncio.ensure_future(receiver.batches.get())
    while not sent.done():
        await clock.advance(1)
        await asyncio.wait([sent], timeout=0.02)
    return sent.result()
