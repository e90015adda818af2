"""The owner of a server's workers: starts them, starts one again that ended, ends with them."""

from __future__ import annotations

import asyncio
import contextlib
import tempfile
from collections.abc import AsyncIterator
from dataclasses import field, replace
from pathlib import Path

import click
import structlog

from proreus.aio.backoff import Backoff
from proreus.aio.clock import Clock, SystemClock, deadline
from proreus.cli.ending import AskedToEnd, ending
from proreus.cli.ready import Announcement, say_ready
from proreus.cli.workers.messages import Failed
from proreus.cli.workers.process import WorkerProcess, started_worker
from proreus.lazy_dataclass import dataclass
from proreus.net.addresses import local_address
from proreus.net.bound_socket import bound_socket, share_port
from proreus.server.config import ServerConfig
from proreus.server.credentials import token_file, write_kubeconfig
from proreus.server.opening import make_shared_files
from proreus.server.registry.metadata import new_uid
from proreus.server.worker import Worker

_log = structlog.get_logger(__name__)
# Beyond what a server takes to withdraw its address and finish requests.
_END_S = 15.0
# The first delay is short: whoever dies once for a reason that is gone is missed for a moment.
_FIRST_DELAY_S, _DELAY_MAX_S = 0.2, 30.0


async def serve_by_workers(config: ServerConfig, count: int) -> None:
    """Until a signal asks this process to end. Raises OSError, NotPrivate, ConfigInvalid, and
    ClickException if a worker cannot start."""
    clock = SystemClock()
    async with ending() as asked:
        await _serve(config, count, asked, clock)


async def _serve(config: ServerConfig, count: int, asked: AskedToEnd, clock: Clock) -> None:
    with (
        bound_socket(config.bind_address, config.port) as held,
        tempfile.TemporaryDirectory(prefix="proreus-", ignore_cleanup_errors=True) as folder,
    ):
        share_port(held)
        port: int = held.getsockname()[1]
        known = await make_shared_files(config, clock)
        run_id = new_uid()
        workers = [
            replace(config, port=port, kubeconfig=None, worker=worker)
            for number in range(1, count + 1)
            if (worker := Worker(number, count, run_id, Path(folder)))
        ]
        async with running_workers(workers, clock) as all_of_them:
            if not await all_of_them.wait_ready(asked):
                return
            address = local_address(config.bind_address, port)
            url = f"{'https' if config.tls else 'http'}://{address}"
            if config.kubeconfig is not None:
                write_kubeconfig(config.kubeconfig, url, known.authority, known.login())
            await say_ready(
                Announcement(
                    "proreus server",
                    url,
                    kubeconfig=config.kubeconfig,
                    token_file=token_file(config.data_dir),
                    data_dir=config.data_dir,
                    workers=count,
                )
            )
            await asked.wait()


@dataclass(slots=True)
class Workers:
    """Those that run, by number. Until all were ready once, one that fails is the failure of all;
    afterwards it is started again, for ever and ever more seldom."""

    clock: Clock
    count: int
    running: dict[int, WorkerProcess] = field(default_factory=dict)
    ready: set[int] = field(default_factory=set)
    failure: str = ""
    has_started: bool = False
    _changed: asyncio.Event = field(default_factory=asyncio.Event)
    _ending: asyncio.Event = field(default_factory=asyncio.Event)

    async def wait_ready(self, asked: asyncio.Event) -> bool:
        """Until all are ready; False: somebody asked for the end before. Raises ClickException."""
        stop = asyncio.ensure_future(asked.wait())
        try:
            while len(self.ready) < self.count and not self.failure and not asked.is_set():
                self._changed.clear()
                change = asyncio.ensure_future(self._changed.wait())
                await asyncio.wait((change, stop), return_when=asyncio.FIRST_COMPLETED)
                change.cancel()
        finally:
            stop.cancel()
        if self.failure:
            raise click.ClickException(self.failure)
        self.has_started = True
        return not asked.is_set()

    async def keep(self, config: ServerConfig) -> None:
        """One of them running, until all end."""
        assert config.worker is not None
        number = config.worker.number
        backoff = Backoff(self.clock, _FIRST_DELAY_S, cap_s=_DELAY_MAX_S)
        while not self._ending.is_set():
            why = await self._run(config, number)
            if self._ending.is_set():
                return
            if not self.has_started:
                self.failure = self.failure or why
                self._changed.set()
                return
            delay_s = backoff.next()
            _log.error(
                "a worker died and is started again",
                worker=number,
                why=why,
                delay_s=round(delay_s, 1),
            )
            with contextlib.suppress(TimeoutError):
                async with deadline(self.clock, delay_s):
                    await self._ending.wait()

    async def _run(self, config: ServerConfig, number: int) -> str:
        """Why it ended."""
        async with started_worker(config) as process:
            self.running[number] = process
            try:
                report = await process.wait_started()
                if isinstance(report, Failed):
                    return report.why
                self.ready.add(number)
                self._changed.set()
                if self.has_started:
                    _log.info("a worker is ready again", worker=number)
                return await process.wait_ended()
            finally:
                self.ready.discard(number)
                del self.running[number]

    def ask_to_end(self) -> None:
        self._ending.set()
        for process in self.running.values():
            process.ask_to_end()

    def kill(self) -> None:
        for number, process in self.running.items():
            _log.error("a worker did not end in time and is killed", worker=number)
            process.kill()


@contextlib.asynccontextmanager
async def running_workers(configs: list[ServerConfig], clock: Clock) -> AsyncIterator[Workers]:
    """All of them, asked to end and waited for when the body ends."""
    workers = Workers(clock, len(configs))
    async with asyncio.TaskGroup() as group:
        keeping = [group.create_task(workers.keep(config)) for config in configs]
        try:
            yield workers
        finally:
            workers.ask_to_end()
            _, late = await asyncio.wait(keeping, timeout=_END_S)
            if late:
                workers.kill()
