"""The parts of a cluster beside its API server, and how each is kept running.

Every part has a client of its own and speaks to the server over the wire, also when both are in one
process: there is one way in, and a part can move to another machine without a change. A part that
dies is started again from nothing, with back-off, and said to be (STYLE.md, 8).

A part's code is loaded when it first runs, beside the loop: a server is ready, and answers, before
everything that will use it has been read from disk.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from proreus.aio.backoff import Backoff
from proreus.aio.clock import Clock
from proreus.aio.tasks import supervise
from proreus.cluster.controller_settings import ControllerSettings
from proreus.cluster.kubelet.settings import KubeletSettings, node_names

if TYPE_CHECKING:
    from proreus.client import Client, ClientConfig
    from proreus.cluster.leading import Candidacy

log = logging.getLogger(__name__)

_RESTART_S, _RESTART_MAX_S = 0.5, 30.0
_Run = Callable[["Client"], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Part:
    """``run`` ends only by cancellation; a second call begins anew."""

    name: str
    run: _Run


def controllers_part(
    clock: Clock,
    *,
    settings: ControllerSettings | None = None,
    candidacy: Candidacy | None = None,
) -> Part:
    def load() -> _Run:
        from proreus.cluster.controllers import run_controllers

        return lambda client: run_controllers(client, clock, settings=settings, candidacy=candidacy)

    return _loaded_later("controllers", load)


def scheduler_part(clock: Clock, *, candidacy: Candidacy | None = None) -> Part:
    def load() -> _Run:
        from proreus.cluster.scheduler.scheduler import run_scheduler

        return lambda client: run_scheduler(client, clock, candidacy=candidacy)

    return _loaded_later("scheduler", load)


def kubelet_part(
    clock: Clock,
    nodes: int,
    *,
    name_prefix: str = "node",
    settings: KubeletSettings | None = None,
) -> Part:
    names = node_names(nodes, name_prefix)

    def load() -> _Run:
        from proreus.cluster.kubelet.kubelet import Kubelet

        return lambda client: Kubelet(client, clock, names, settings).run()

    return _loaded_later("kubelet", load)


def _loaded_later(name: str, load: Callable[[], _Run]) -> Part:
    async def run(client: Client) -> None:
        run = await asyncio.to_thread(load)
        await run(client)

    return Part(name, run)


async def run_part(part: Part, config: ClientConfig, clock: Clock) -> None:
    """Until cancelled, whatever happens to the part or to the server."""
    # A part is trusted to know its own pace; the limit is for people's programs.
    own = replace(config, rate_limit=None, user_agent=f"proreus-{part.name}")

    async def run() -> None:
        from proreus.client import Client
        from proreus.cluster.leading import note_warning

        async with Client(own, clock=clock, on_warning=note_warning) as client:
            await part.run(client)

    backoff = Backoff(clock, initial_s=_RESTART_S, cap_s=_RESTART_MAX_S)
    await supervise(part.name, run, clock=clock, backoff=backoff, died=_died)


def _died(part: str, why: BaseException | None, delay_s: float) -> None:
    log.error("part died, restarting: part=%s delay_s=%.1f", part, delay_s, exc_info=why)
