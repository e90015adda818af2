"""One worker's process, from its start to its end, as its owner sees it."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator

from proreus.cli.owned_process.process import OwnedProcess, owned_process
from proreus.cli.workers.messages import Report, decoded_report
from proreus.server.config import ServerConfig

_MODULE = "proreus.cli.workers.worker"


class WorkerProcess:
    def __init__(self, process: OwnedProcess) -> None:
        self._process = process
        self.wait_ended = process.wait_ended
        self.ask_to_end = process.ask_to_end
        self.kill = process.kill

    async def wait_started(self) -> Report:
        """Whether it answers requests; it may take as long as its store does."""
        try:
            return decoded_report(await self._process.line.readline())
        except ConnectionError:
            return decoded_report(b"")


@contextlib.asynccontextmanager
async def started_worker(config: ServerConfig) -> AsyncIterator[WorkerProcess]:
    """A process that is at work, or soon will be; killed if it still runs at the end."""
    assert config.worker is not None
    number = config.worker.number
    async with owned_process(_MODULE, [str(number)], config, {"worker": number}) as process:
        yield WorkerProcess(process)
