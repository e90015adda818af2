"""How events get to a back end: shortened, compressed, as text, and with requests that wait."""

from __future__ import annotations

import asyncio
import gzip
from collections.abc import Sequence
from pathlib import Path

import pytest

from proreus.api.status import InternalError
from proreus.api.wire import json
from proreus.api.wire.path import split
from proreus.server.audit.auditor import Auditor, backend_running
from proreus.server.audit.backlog import Backlog
from proreus.server.audit.event import AuditedRequest, AuditEvent
from proreus.server.audit.gathering import Gathering
from proreus.server.audit.legacy_format import legacy_line
from proreus.server.audit.log_backend import LogBackend
from proreus.server.audit.log_file import LogFile, Loss
from proreus.server.audit.metrics import AuditMetrics
from proreus.server.audit.options import LOG_DEFAULTS, BackendMode, BackendOptions, LogLimits
from proreus.server.audit.policy import Level, Recording, Stage
from proreus.server.audit.policy_file import follow_policy
from proreus.server.offload import INLINE
from proreus.server.prometheus import CollectorRegistry
from proreus.server.registry.user import User
from proreus.testing.virtual_clock import VirtualClock

PATH = "/api/v1/namespaces/default/configmaps"


def event(level: Level = Level.REQUEST) -> AuditEvent:
    user = User("ann", ("devs", "ops"))
    request = AuditedRequest("7", user, "create", split(PATH), PATH, PATH, {}, "10.0.0.9")
    return AuditEvent(Recording(level), request, 0.0)


class BrokenFile(LogFile):
    def write(self, lines: Sequence[bytes]) -> Loss | None:
        return Loss(len(lines), "No space left on device")


class World:
    def __init__(self, folder: Path, options: BackendOptions, kind: type[LogFile] = LogFile):
        self.clock = VirtualClock()
        self.path = folder / "audit.log"
        self.metrics = AuditMetrics(CollectorRegistry())
        file = kind(self.path, LogLimits(), self.clock.now)
        limit = options.event_bytes_max
        backlog = Backlog("log", self.metrics, event_bytes_max=limit)
        self.backend = LogBackend(Gathering(backlog, options, self.clock), file, INLINE)
        policy = folder / "policy.yaml"
        policy.write_text("apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: Request}]")
        followed = follow_policy(policy, self.metrics.reloads, self.clock)
        self.auditor = Auditor(followed, (self.backend,), self.metrics, self.clock)

    def events(self) -> list[dict[str, object]]:
        return [json.decode(line) for line in self.path.read_bytes().splitlines()]


async def test_an_event_that_is_too_long_loses_its_bodies(tmp_path: Path) -> None:
    world = World(tmp_path, BackendOptions(event_bytes_max=2_000, throttle_qps=0))
    short, long = event(), event()
    short.set_request_object({"data": "x"})
    long.set_request_object({"data": "x" * 3_000})

    async with backend_running(world.backend):
        for each in (short, long):
            world.auditor.record(each, Stage.RESPONSE_COMPLETE)

    kept, cut = world.events()
    assert kept["requestObject"] == {"data": "x"}
    assert "requestObject" not in cut
    assert cut["annotations"] == {"audit.k8s.io/truncated": "true"}


async def test_an_event_that_is_too_long_without_bodies_is_lost_and_counted(
    tmp_path: Path,
) -> None:
    world = World(tmp_path, BackendOptions(event_bytes_max=100, throttle_qps=0))

    async with backend_running(world.backend):
        world.auditor.record(event(), Stage.RESPONSE_COMPLETE)

    assert world.metrics.errors["log"] == 1
    assert not world.events()


async def test_a_request_waits_for_a_log_that_blocks(tmp_path: Path) -> None:
    world = World(tmp_path, BackendOptions(mode=BackendMode.BLOCKING))
    begun = asyncio.ensure_future(world.auditor.record_first(event()))
    await world.clock.settle()
    assert not begun.done(), "nobody writes yet"

    async with backend_running(world.backend):
        await begun
        assert [each["stage"] for each in world.events()] == ["RequestReceived"]


@pytest.mark.parametrize("mode", [BackendMode.BLOCKING, BackendMode.BLOCKING_STRICT])
async def test_a_request_that_cannot_be_recorded_fails_if_that_is_asked_for(
    tmp_path: Path, mode: BackendMode
) -> None:
    world = World(tmp_path, BackendOptions(mode=mode), BrokenFile)

    async with backend_running(world.backend):
        if mode is BackendMode.BLOCKING:
            await world.auditor.record_first(event())
        else:
            with pytest.raises(InternalError, match="failed to store audit event"):
                await world.auditor.record_first(event())

    assert world.metrics.rejected == (mode is BackendMode.BLOCKING_STRICT)


async def test_batches_are_held_back_to_their_rate(tmp_path: Path) -> None:
    options = BackendOptions(batch_events=1, batch_wait_s=0, throttle_qps=1, throttle_burst=2)
    world = World(tmp_path, options)

    async with backend_running(world.backend):
        for _ in range(5):
            world.auditor.record(event(), Stage.RESPONSE_COMPLETE)
        await world.clock.advance(0.5)
        assert len(world.events()) == 2
        await world.clock.advance(1)
        assert len(world.events()) == 3

    assert len(world.events()) == 5, "what waits when the server stops is written"


def test_what_is_put_aside_is_compressed(tmp_path: Path) -> None:
    clock = VirtualClock()
    limits = LogLimits(size_bytes=25, backups=2, compress=True)
    file = LogFile(tmp_path / "audit.log", limits, clock.now)
    for number in range(5):
        file.write([b"line number %d" % number] * 2)
    file.close()

    packed = sorted(tmp_path.glob("audit-*"))
    assert [path.name.endswith(".log.gz") for path in packed] == [True, True]
    assert gzip.decompress(packed[-1].read_bytes()) == b"line number 4\n"
    assert packed[-1].stat().st_mode & 0o077 == 0


def test_an_event_can_be_a_line_of_text() -> None:
    made = event()
    first = legacy_line(made.encode(Stage.REQUEST_RECEIVED))
    made.set_impersonated(User("bob", ("a",)), "")
    made.set_response_code(201)
    last = legacy_line(made.encode(Stage.RESPONSE_COMPLETE, 1.0))

    line = (
        '1970-01-01T00:00:00.000000Z AUDIT: id="7" stage="%s" ip="10.0.0.9" method="create" '
        'user="ann" groups="\\"devs\\",\\"ops\\"" as="%s" asgroups="%s" '
        'user-agent="<unknown>" namespace="default" '
        'uri="/api/v1/namespaces/default/configmaps" response="%s"'
    )
    assert first.decode() == line % ("RequestReceived", "<self>", "<lookup>", "<deferred>")
    assert last.decode() == line % ("ResponseComplete", "bob", '\\"a\\"', "201")


def test_the_log_gathers_events_only_for_a_moment() -> None:
    assert LOG_DEFAULTS.batch_wait_s < 0.1
