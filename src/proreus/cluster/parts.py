"""The parts of a cluster beside its API server, and how each is kept running.

Every part has a client of its own and speaks to the server over the wire, also when both are in one
process: there is one way in, and a part can move to another machine without a change. A part that
dies is started again from nothing, with back-off, and said to be (STYLE.md, 8).
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace

from proreus.aio.backoff import Backoff
from proreus.aio.clock import Clock
from proreus.aio.tasks import supervise
from proreus.client import Client, ClientConfig
from proreus.cluster.controllers import run_controllers
from proreus.cluster.kubelet.kubelet import Kubelet, node_names
from proreus.cluster.scheduler.scheduler import Scheduler

log = logging.getLogger(__name__)

RUNTIMES = ("simulated",)
_RESTART_S, _RESTART_MAX_S = 0.5, 30.0


@dataclass(frozen=True, slots=True)
class Part:
    """``run`` ends only by cancellation; a second call begins anew."""

    name: str
    run: Callable[[Client], Awaitable[None]]


def controllers_part(clock: Clock, *, leader_election: bool = False) -> Part:
    def run(client: Client) -> Awaitable[None]:
        return run_controllers(client, clock, leader_election=leader_election)

    return Part("controllers", run)


def scheduler_part(clock: Clock) -> Part:
    return Part("scheduler", lambda client: Scheduler(client, clock).run())


def kubelet_part(clock: Clock, nodes: int, *, name_prefix: str = "node") -> Part:
    names = node_names(nodes, name_prefix)
    return Part("kubelet", lambda client: Kubelet(client, clock, names).run())


async def run_part(part: Part, config: ClientConfig, clock: Clock) -> None:
    """Until cancelled, whatever happens to the part or to the server."""
    # A part is trusted to know its own pace; the limit is for people's programs.
    own = replace(config, rate_limit=None, user_agent=f"proreus-{part.name}")

    async def run() -> None:
        async with Client(own, clock=clock) as client:
            await part.run(client)

    backoff = Backoff(clock, initial_s=_RESTART_S, cap_s=_RESTART_MAX_S)
    await supervise(part.name, run, clock=clock, backoff=backoff, died=_died)


def _died(part: str, why: BaseException | None, delay_s: float) -> None:
    log.error("part died, restarting: part=%s delay_s=%.1f", part, delay_s, exc_info=why)
