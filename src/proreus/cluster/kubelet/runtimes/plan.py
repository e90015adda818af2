"""What a simulated pod shall do, read from its spec and its annotations.

    proreus.dev/start-delay: 2s     how long a container is being created (default 0)
    proreus.dev/ready-after: 5s     how long after its start it is ready; "never" (default: the
                                    readiness probe's initial delay)
    proreus.dev/exit-after: 10s     it exits by itself then; "never" (default, but 1s in a Job)
    proreus.dev/exit-code: "1"      with this code (default 0)
    proreus.dev/exits: "3"          only so many times, then it keeps running (default: always)
    proreus.dev/stop-after: 1s      how long it takes to stop when told to (default 0)

They hold for all containers but the init containers; ``NAME.proreus.dev/…`` holds for the container
NAME alone, whichever it is, and wins. Init containers exit at once with 0 unless told otherwise.
A value that cannot be read counts as absent: a simulation has nobody to complain to.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from proreus.api.object import KubeObject
from proreus.api.values.duration import parse_duration
from proreus.cluster.kubelet.runtimes.restarting import ALWAYS, is_sidecar, restart_policy

DOMAIN = "proreus.dev"
_JOB_RUNS_S = 1.0


@dataclass(frozen=True, slots=True)
class ContainerPlan:
    """Seconds; None means never (``exits`` None: no limit)."""

    name: str
    image: str
    start_delay_s: float = 0.0
    ready_after_s: float | None = 0.0
    exit_after_s: float | None = None
    exit_code: int = 0
    exits: int | None = None
    stop_after_s: float = 0.0
    restart_policy: str = ALWAYS
    is_sidecar: bool = False


@dataclass(frozen=True, slots=True)
class PodPlan:
    init: tuple[ContainerPlan, ...]
    containers: tuple[ContainerPlan, ...]


def read_plan(pod: KubeObject) -> PodPlan:
    spec: Mapping[str, Any] = pod.get("spec") or {}
    annotations = dict(pod.annotations)
    policy = spec.get("restartPolicy") or ALWAYS
    runs_s = _JOB_RUNS_S if _is_of_job(pod) else None
    return PodPlan(
        init=tuple(
            _container(container, _Said(annotations, (container["name"],)), policy, is_init=True)
            for container in spec.get("initContainers") or ()
        ),
        containers=tuple(
            _container(
                container, _Said(annotations, (container["name"], "")), policy, runs_s=runs_s
            )
            for container in spec.get("containers") or ()
        ),
    )


class _Said:
    """The annotations that concern one container, the most specific first."""

    def __init__(self, annotations: Mapping[str, str], owners: tuple[str, ...]) -> None:
        self._annotations = annotations
        self._prefixes = [f"{owner}.{DOMAIN}/" if owner else f"{DOMAIN}/" for owner in owners]

    def seconds(self, name: str, default: float | None) -> float | None:
        said = self._get(name)
        if said == "never":
            return None
        try:
            return max(0.0, parse_duration(said)) if said else default
        except ValueError:
            return default

    def number(self, name: str) -> int | None:
        said = self._get(name)
        return int(said) if said.isascii() and said.isdecimal() and len(said) < 10 else None

    def _get(self, name: str) -> str:
        for prefix in self._prefixes:
            if said := self._annotations.get(prefix + name, "").strip():
                return said
        return ""


def _container(
    container: Mapping[str, Any],
    said: _Said,
    pod_policy: str,
    *,
    is_init: bool = False,
    runs_s: float | None = None,
) -> ContainerPlan:
    serves = is_sidecar(container, is_init=is_init)
    ends_by_itself = is_init and not serves
    probe = container.get("readinessProbe") or {}
    return ContainerPlan(
        name=container["name"],
        image=container.get("image") or "",
        start_delay_s=said.seconds("start-delay", 0.0) or 0.0,
        ready_after_s=said.seconds("ready-after", float(probe.get("initialDelaySeconds") or 0)),
        exit_after_s=said.seconds("exit-after", 0.0 if ends_by_itself else runs_s),
        exit_code=said.number("exit-code") or 0,
        exits=said.number("exits"),
        stop_after_s=said.seconds("stop-after", 0.0) or 0.0,
        restart_policy=restart_policy(container, pod_policy, is_init=is_init),
        is_sidecar=serves,
    )


def _is_of_job(pod: KubeObject) -> bool:
    owners = pod.metadata.ownerReferences or ()
    return any(owner.controller and owner.kind == "Job" for owner in owners)
