"""Which parts of ``proreus up`` run in a process, with everything they need to be made there."""

from __future__ import annotations

import os
from pathlib import Path

from proreus.aio.clock import Clock
from proreus.cluster.components import (
    Component,
    controllers_component,
    node_components,
    scheduler_component,
)
from proreus.cluster.controller_settings import ControllerSettings
from proreus.cluster.kubelet.settings import KubeletSettings
from proreus.lazy_dataclass import dataclass

CONTROLLERS, SCHEDULER, KUBELET = PARTS = ("controllers", "scheduler", "kubelet")
# By the number of processes, that of the server included. What talks to itself the most stays
# together, and so do nodes, which share a memory of what pods of one template look like.
_GROUPS: dict[int, tuple[tuple[str, ...], ...]] = {
    1: (),
    2: ((CONTROLLERS, SCHEDULER, KUBELET),),
    3: ((CONTROLLERS, SCHEDULER), (KUBELET,)),
    4: ((CONTROLLERS,), (SCHEDULER,), (KUBELET,)),
}
PROCESSES_MAX = max(_GROUPS)
_NODES_MANY = 5


@dataclass(frozen=True, slots=True)
class PartsOrder:
    """``names``: of the parts. ``url``: where the server is, once that is known."""

    names: tuple[str, ...]
    data_dir: Path
    nodes: int
    kubelet: KubeletSettings
    controllers: ControllerSettings
    reports_activity: bool = False
    url: str = ""

    def components(self, clock: Clock) -> list[Component]:
        made: list[Component] = []
        if CONTROLLERS in self.names:
            made.append(controllers_component(clock, settings=self.controllers))
        if SCHEDULER in self.names:
            made.append(scheduler_component(clock))
        if KUBELET in self.names:
            made += node_components(clock, self.nodes, settings=self.kubelet)
        return made

    def runs_containers(self) -> bool:
        """As processes, which inherit what this one's priority is."""
        return KUBELET in self.names and self.kubelet.runtime == "process"

    def node_count(self) -> int:
        return self.nodes if KUBELET in self.names else 0


def divided(names: tuple[str, ...], processes: int) -> list[tuple[str, ...]]:
    """The parts of each further process; none: all of them run with the server."""
    groups = [tuple(name for name in group if name in names) for group in _GROUPS[processes]]
    return [group for group in groups if group]


def usable_cores() -> int:
    """Those that this process may use, where the system says which."""
    allowed = getattr(os, "sched_getaffinity", None)
    return len(allowed(0)) if allowed is not None else os.cpu_count() or 1


def processes_for(nodes: int, cores: int) -> int:
    """A small cluster is one process, which is there sooner and needs less memory."""
    return 1 if nodes < _NODES_MANY or cores < 2 else 3
