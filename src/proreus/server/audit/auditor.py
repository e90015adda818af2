"""Whether a request is recorded, and where its events go. Made only if there is a policy."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import field
from pathlib import Path

import structlog

from proreus.aio.clock import Clock
from proreus.aio.tasks import background
from proreus.api.status import InternalError
from proreus.lazy_dataclass import dataclass
from proreus.server.audit import log_backend, webhook_backend
from proreus.server.audit.backlog import Backlog
from proreus.server.audit.event import AuditedRequest, AuditEvent
from proreus.server.audit.gathering import Gathering
from proreus.server.audit.legacy_format import legacy_line
from proreus.server.audit.log_backend import LogBackend
from proreus.server.audit.log_file import LogFile, StandardOutput
from proreus.server.audit.metrics import AuditMetrics
from proreus.server.audit.options import (
    STANDARD_OUTPUT,
    AuditOptions,
    BackendMode,
    BackendOptions,
    LogFormat,
)
from proreus.server.audit.policy import Level, Policy, Stage
from proreus.server.audit.policy_file import follow_policy
from proreus.server.audit.webhook_backend import WebhookBackend
from proreus.server.config_files.fields import ConfigFileInvalid
from proreus.server.config_files.followed_file import FollowedFile
from proreus.server.offload import Runner
from proreus.server.prometheus import CollectorRegistry
from proreus.server.webhooks.kubeconfig import KubeconfigInvalid, read_webhook_kubeconfig

_log = structlog.get_logger(__name__)


class AuditInvalid(ValueError):
    """What the options name cannot be used; the text says why in one sentence."""


@dataclass(slots=True, eq=False)
class Auditor:
    """A request ``begin``s; each stage of it is ``record``ed. Nothing waits or fails unless a back
    end is asked to block."""

    policy_file: FollowedFile[Policy]
    backends: tuple[LogBackend | WebhookBackend, ...]
    metrics: AuditMetrics
    clock: Clock
    blocks: bool = field(init=False)  # whether requests wait until their events are recorded

    def __post_init__(self) -> None:
        self.blocks = any(
            one.gathering.options.mode is not BackendMode.BATCH for one in self.backends
        )

    def begin(self, request: AuditedRequest) -> AuditEvent | None:
        """None: the policy does not want it recorded."""
        recording = self.policy_file.value.evaluate(
            request.user, request.verb, request.target, request.path
        )
        self.metrics.levels[recording.level] += 1
        if recording.level is Level.NONE:
            return None
        return AuditEvent(recording, request, self.clock.now())

    def record(self, event: AuditEvent, stage: Stage) -> None:
        if stage in event.recording.omit_stages:
            return
        is_first = stage is Stage.REQUEST_RECEIVED
        line = event.encode(stage, None if is_first else self.clock.now())
        self.metrics.events += 1
        for backend in self.backends:
            backlog = backend.backlog
            if backlog.event_bytes_max and len(line) > backlog.event_bytes_max:
                self._offer_shortened(event, backlog)
            else:
                backlog.offer(line)

    async def record_first(self, event: AuditEvent) -> None:
        """As ``record``, and wait until it is. Raises InternalError if that fails and must not."""
        strict = [
            backend.backlog
            for backend in self.backends
            if backend.gathering.options.mode is BackendMode.BLOCKING_STRICT
        ]
        before = [backlog.lost for backlog in strict]
        self.record(event, Stage.REQUEST_RECEIVED)
        await self.wait_recorded()
        # What others lost meanwhile counts too: the back end is failing.
        if before != [backlog.lost for backlog in strict]:
            self.metrics.rejected += 1
            raise InternalError.of("failed to store audit event")

    async def wait_recorded(self) -> None:
        for backend in self.backends:
            if backend.gathering.options.mode is not BackendMode.BATCH:
                await backend.backlog.wait_handled()

    def _offer_shortened(self, event: AuditEvent, backlog: Backlog) -> None:
        line = event.encode_without_bodies()
        if len(line) > backlog.event_bytes_max:
            backlog.lose(1, "event is too large even after truncating")
        else:
            backlog.offer(line)

    def __repr__(self) -> str:
        return f"<Auditor {self.policy_file.value!r}, {self.backends!r}>"


@asynccontextmanager
async def open_auditor(
    options: AuditOptions, registry: CollectorRegistry, clock: Clock, lane: Runner
) -> AsyncIterator[Auditor | None]:
    """None: nothing is recorded. At the end all events are written or counted as lost.

    Raises AuditInvalid.
    """
    metrics = AuditMetrics(registry)
    if options.policy_file is None:
        if options.log_path is not None or options.webhook_config_file is not None:
            _log.warning("no audit policy file is given: nothing is recorded")
        yield None
        return
    policy_file = _load(options.policy_file, metrics, clock)
    backends = tuple(_backends(options, metrics, clock, lane))
    if not backends:
        _log.warning("neither an audit log nor a webhook is given: nothing is recorded")
        yield None
        return
    async with AsyncExitStack() as running:
        for backend in backends:
            await running.enter_async_context(backend_running(backend))
        await running.enter_async_context(background(policy_file.run(lane)))
        yield Auditor(policy_file, backends, metrics, clock)


@asynccontextmanager
async def backend_running(backend: LogBackend | WebhookBackend) -> AsyncIterator[None]:
    """At the end what is left in its backlog is delivered or counted as lost."""
    try:
        async with background(backend.run()):
            yield
    finally:
        await backend.close()


def _load(path: Path, metrics: AuditMetrics, clock: Clock) -> FollowedFile[Policy]:
    try:
        return follow_policy(path, metrics.reloads, clock)
    except ConfigFileInvalid as error:
        raise AuditInvalid(str(error)) from error


def _backends(
    options: AuditOptions, metrics: AuditMetrics, clock: Clock, lane: Runner
) -> Iterator[LogBackend | WebhookBackend]:
    if options.webhook_config_file is not None:
        try:
            address = read_webhook_kubeconfig(options.webhook_config_file)
        except KubeconfigInvalid as error:
            raise AuditInvalid(f"audit {error}") from error
        gathering = _gathering(webhook_backend.NAME, metrics, options.webhook, clock)
        yield WebhookBackend(gathering, address, clock, options.webhook_initial_backoff_s)
    if options.log_path is not None:
        file = _open_log(options.log_path, options, clock)
        gathering = _gathering(log_backend.NAME, metrics, options.log, clock)
        line_of = legacy_line if options.log_format is LogFormat.LEGACY else None
        yield LogBackend(gathering, file, lane, line_of)


def _gathering(
    name: str, metrics: AuditMetrics, options: BackendOptions, clock: Clock
) -> Gathering:
    backlog = Backlog(
        name,
        metrics,
        events_max=options.buffer_events,
        batch_events=options.batch_events,
        event_bytes_max=options.event_bytes_max,
    )
    return Gathering(backlog, options, clock)


def _open_log(path: Path, options: AuditOptions, clock: Clock) -> LogFile | StandardOutput:
    if path == STANDARD_OUTPUT:
        return StandardOutput()
    try:
        return LogFile(path, options.log_limits, clock.now)
    except OSError as error:
        raise AuditInvalid(f"audit log {path}: {error.strerror}") from error
