"""The components of a cluster beside its API server, and how each is kept running.

Every component has a client of its own and talks to the server over the wire, also when both are in
one process, so that it can move to another machine without a change. One that dies is started again
from nothing, with back-off and a line in the log (STYLE.md, 8).

A component's code is loaded when it first runs, in a thread, one component at a time: the server is
ready before everything that will use it has been imported.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from proreus.aio.backoff import Backoff
from proreus.aio.clock import Clock
from proreus.aio.tasks import supervise
from proreus.cluster.controller_settings import ControllerSettings
from proreus.cluster.kubelet.settings import NODE_PREFIX, KubeletSettings, node_names
from proreus.cluster.kubelet.shared_by_kubelets import SharedByKubelets

if TYPE_CHECKING:
    from proreus.client import Client, ClientConfig
    from proreus.cluster.leader_election import Candidacy

log = logging.getLogger(__name__)

CONTROLLER_MANAGER, SCHEDULER = "system:kube-controller-manager", "system:kube-scheduler"
NODES = "system:nodes"
_RESTART_S, _RESTART_MAX_S = 0.5, 30.0
_NODES_REPORTING = 5
_WORKERS_SHARED = 40  # by all nodes of a process
_Run = Callable[["Client"], Awaitable[None]]
# Two threads that import a package and a module of it wait for each other; Python resolves that by
# giving one of them a module that is not complete yet.
_IMPORTING = threading.Lock()


@dataclass(frozen=True, slots=True)
class Component:
    """``run`` ends only by cancellation; a second call begins anew. ``user`` and ``groups``: whom
    the cluster's policy gives the rights that it needs. ``reports``: the server's debug pages may
    show what it does. ``requests_at_once``: as ``ClientConfig`` takes it."""

    name: str
    run: _Run
    user: str = ""
    groups: tuple[str, ...] = ()
    reports: bool = True
    requests_at_once: int | None = None


def controllers_component(
    clock: Clock, *, settings: ControllerSettings | None = None, candidacy: Candidacy | None = None
) -> Component:
    def load() -> _Run:
        from proreus.cluster.controllers import run_controllers

        return lambda client: run_controllers(client, clock, settings=settings, candidacy=candidacy)

    return _loaded_later("controllers", load, CONTROLLER_MANAGER)


def scheduler_component(clock: Clock, *, candidacy: Candidacy | None = None) -> Component:
    def load() -> _Run:
        from proreus.cluster.scheduler.scheduler import run_scheduler

        return lambda client: run_scheduler(client, clock, candidacy=candidacy)

    return _loaded_later("scheduler", load, SCHEDULER)


def kubelet_component(
    clock: Clock, nodes: int, *, name_prefix: str = "node", settings: KubeletSettings | None = None
) -> Component:
    """All nodes in one, with the rights of who runs it."""
    return _kubelet(clock, node_names(nodes, name_prefix), settings)


def node_components(
    clock: Clock, nodes: int, *, settings: KubeletSettings | None = None
) -> list[Component]:
    """One per node, each with the rights of its node alone. Of many the first ones report: all do
    the same, and a hundred reports would cost more than a hundred leases."""
    settings = settings or KubeletSettings()
    shared = SharedByKubelets(settings, clock)
    # A handshake costs more than a request: many nodes have few connections each.
    own = replace(settings, workers=max(1, min(settings.workers, _WORKERS_SHARED // nodes)))
    return [
        replace(
            _kubelet(clock, [name], own, shared),
            user=f"{NODE_PREFIX}{name}",
            groups=(NODES,),
            reports=number < _NODES_REPORTING,
            requests_at_once=own.workers,
        )
        for number, name in enumerate(node_names(nodes))
    ]


def _kubelet(
    clock: Clock,
    names: list[str],
    settings: KubeletSettings | None,
    shared: SharedByKubelets | None = None,
) -> Component:
    def load() -> _Run:
        from proreus.cluster.kubelet.kubelet import Kubelet

        return lambda client: Kubelet(client, clock, names, settings, shared).run()

    return _loaded_later("kubelet", load)


def _loaded_later(name: str, load: Callable[[], _Run], user: str = "") -> Component:
    async def run(client: Client) -> None:
        run = await asyncio.to_thread(_load_alone, load)
        await run(client)

    return Component(name, run, user)


def _load_alone(load: Callable[[], _Run]) -> _Run:
    with _IMPORTING:
        return load()


async def run_component(
    part: Component, config: ClientConfig, clock: Clock, *, reports_activity: bool = False
) -> None:
    """Until cancelled, whatever happens to the part or to the server. ``reports_activity``: to the
    server's debug pages, what its informers and controllers do."""
    # A part is trusted to know its own pace; the limit is for people's programs.
    own = replace(
        config,
        rate_limit=None,
        requests_at_once=part.requests_at_once,
        disk_cache=False,
        user_agent=f"proreus-{part.name}",
    )

    async def run() -> None:
        from proreus.client import Client
        from proreus.cluster.leader_election import note_warning

        async with Client(own, clock=clock, on_warning=note_warning) as client:
            if not reports_activity or not part.reports:
                await part.run(client)
                return
            from proreus.client.activity_report import reported

            async with reported(client, part.user or part.name, clock):
                await part.run(client)

    backoff = Backoff(clock, initial_s=_RESTART_S, cap_s=_RESTART_MAX_S)
    await supervise(part.name, run, clock=clock, backoff=backoff, died=_died)


def _died(part: str, why: BaseException | None, delay_s: float) -> None:
    log.error("part died, restarting: part=%s delay_s=%.1f", part, delay_s, exc_info=why)
