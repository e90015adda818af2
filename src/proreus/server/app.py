"""An API server: starts its parts, each after those it needs, and ends them in reverse order.

Start reading here; ``parts`` says what the parts are and what each is made of.

``async with ApiServer(config) as server:`` answers when the body begins and is gone when it ends;
``wait_ready`` waits until it says of itself, by ``/readyz``, that it is ready.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import AsyncExitStack, closing, contextmanager
from pathlib import Path
from types import TracebackType

import structlog

from proreus.aio.clock import Clock, SystemClock
from proreus.aio.tasks import background
from proreus.net.http1.messages import Handler
from proreus.net.http1.mount import mounted
from proreus.server.config import ServerConfig
from proreus.server.credentials import AdminCredentials, token_file, write_kubeconfig
from proreus.server.http.instruments import NO_INSTRUMENTS, Instruments
from proreus.server.offload import open_offload
from proreus.server.opening import open_audit, open_authorization, open_storage
from proreus.server.parts import Parts

_READY_POLL_S = 0.005
_READY_WITHIN_S = 10.0

_log = structlog.get_logger(__name__)


class ApiServer:
    """``url``, ``token`` and ``kubeconfig`` say how to reach it once it is ready."""

    def __init__(
        self,
        config: ServerConfig | None = None,
        clock: Clock | None = None,
        instruments: Instruments = NO_INSTRUMENTS,
    ) -> None:
        self.config = config or ServerConfig()
        self.clock: Clock = clock or SystemClock()
        self.parts = Parts(self.config, self.clock, instruments)
        self.metrics = self.parts.metrics
        self.catalog = self.parts.catalog
        self._running = AsyncExitStack()
        self._is_bound = False

    @property
    def url(self) -> str:
        assert self._is_bound, "the server is not running"
        return f"{'https' if self.config.tls else 'http'}://{self.parts.address()}"

    @property
    def token(self) -> str:
        """The administrator's."""
        return self.credentials.token

    @property
    def token_file(self) -> Path | None:
        """Where the administrator's token is kept; None: in memory."""
        return token_file(self.config.data_dir)

    @property
    def credentials(self) -> AdminCredentials:
        return self.parts.credentials

    @contextmanager
    def mounted(self, prefix: str, handler: Handler) -> Iterator[None]:
        """While it lasts, requests for ``prefix`` and what is below it go to ``handler`` and pass
        none of the server's stages: it decides who may ask. Without a mount no request pays for
        one."""
        assert self._is_bound, "the server is not running"
        http = self.parts.http
        others = http.handler
        http.handler = mounted(prefix, handler, others)
        try:
            yield
        finally:
            http.handler = others

    async def __aenter__(self) -> ApiServer:
        async with AsyncExitStack() as starting:
            try:
                await self._start(starting)
            except Exception:
                await starting.aclose()  # as in ``__aexit__``
                raise
            self._running = starting.pop_all()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.begin_shutdown()
        if isinstance(error, asyncio.CancelledError):
            await self._running.__aexit__(kind, error, trace)
        else:
            # The body's own failure stays what it is; given to the task groups inside, it would
            # come out wrapped.
            await self._running.aclose()

    async def wait_ready(self) -> None:
        """Until ``/readyz`` passes: parts do their first work after the body has begun, which takes
        some milliseconds. Where it does not pass for ten seconds, as on a full disk, that is logged
        and no longer waited for: the server answers."""
        ends_s = self.clock.monotonic() + _READY_WITHIN_S
        while failing := self.parts.health.failing("readyz"):
            if self.clock.monotonic() >= ends_s:
                _log.warning("this server answers and is not ready", failing=failing)
                return
            await self.clock.sleep(_READY_POLL_S)

    def begin_shutdown(self) -> None:
        """No new work; watches and streams end at once, so that clients leave (server.md §5.6).
        First nobody can connect any more: whoever comes back would be sent away, and perhaps list
        again, instead of finding another server."""
        self.parts.shutdown.has_begun = True
        if self._is_bound:
            self.parts.http.begin_ending()
            self.parts.caches.close_watchers()
            self.parts.kubelets.end_streams()
            self.parts.aggregation.remotes.end_streams()

    async def _start(self, ending: AsyncExitStack) -> None:
        parts, config, clock, metrics = self.parts, self.config, self.clock, self.metrics
        start = ending.enter_async_context
        offload = parts.offload = await start(open_offload(has_threads=config.has_threads))
        parts.auditor = await start(open_audit(config, metrics, clock, offload))
        storage = parts.storage = await start(
            open_storage(
                config,
                self.catalog,
                metrics,
                clock,
                offload.configuration,
                parts.storage_requests,
                parts.instruments.memory,
            )
        )
        parts.has_past = await storage.current_revision() > 1
        ending.enter_context(closing(parts.senders))
        parts.access = await start(
            open_authorization(config, parts.collections, metrics, clock, offload.queries)
        )
        ending.push_async_callback(parts.kubelets.close)
        self._bind(ending)  # some of the objects that it makes next have the port in them
        await parts.start_parts.make_objects()
        await start(
            background(
                storage.run(config.compaction_s),
                parts.caches.run(),
                parts.deadlines.run(),
                parts.admission.run(),
            )
        )
        await parts.caches.wait_ready()
        await start(parts.authentication.running(offload))
        await parts.custom.start()
        await start(background(parts.custom.run(), parts.start_parts.run()))
        if parts.worker_metrics is not None:
            await start(parts.worker_metrics.running())
        await start(parts.http.run())
        if parts.followed_tls is not None:
            await start(background(parts.followed_tls.run(offload.configuration)))
        self._write_kubeconfig()
        ending.push_async_callback(parts.start_parts.withdraw)

    def _bind(self, ending: AsyncExitStack) -> None:
        self.parts.http.bind()
        ending.callback(self.parts.http.unbind)
        self._is_bound = True

    def _write_kubeconfig(self) -> None:
        if self.config.kubeconfig is not None:
            known = self.credentials
            write_kubeconfig(self.config.kubeconfig, self.url, known.authority, known.login())

    def __repr__(self) -> str:
        where = self.url if self._is_bound else "not running"
        return f"<ApiServer {where}, {len(self.catalog)} resources>"
