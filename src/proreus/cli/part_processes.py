"""Parts of ``proreus up`` in processes of their own, as the server's process keeps them."""

from __future__ import annotations

import logging
from contextlib import suppress

from proreus.aio.backoff import Backoff
from proreus.aio.clock import Clock, deadline
from proreus.aio.tasks import supervise
from proreus.cli.owned_process.process import OwnedProcess, owned_process
from proreus.cli.parts_order import PartsOrder

log = logging.getLogger(__name__)

_MODULE = "proreus.cli.part_process"
_RESTART_S, _RESTART_MAX_S = 0.5, 30.0
_END_S = 15.0  # kubelets report what their pods came to


class ProcessEnded(Exception):
    """Nobody asked it to."""


async def keep_part_process(order: PartsOrder, clock: Clock) -> None:
    """Until cancelled; a process that ends is started again, ever more seldom."""
    name = ",".join(order.names)

    async def run() -> None:
        async with owned_process(_MODULE, (), order, {"process": name}) as process:
            log.info("process started: parts=%s pid=%d", name, process.pid)
            try:
                how = await process.wait_ended()
            finally:
                await _end(process, clock)
        raise ProcessEnded(how)

    backoff = Backoff(clock, initial_s=_RESTART_S, cap_s=_RESTART_MAX_S)
    await supervise(name, run, clock=clock, backoff=backoff, died=_died)


async def _end(process: OwnedProcess, clock: Clock) -> None:
    """One that takes too long is killed with its context."""
    process.ask_to_end()
    with suppress(TimeoutError):
        async with deadline(clock, _END_S):
            await process.wait_ended()


def _died(part: str, why: BaseException | None, delay_s: float) -> None:
    log.error("process died, restarting: parts=%s why=%s delay_s=%.1f", part, why, delay_s)
