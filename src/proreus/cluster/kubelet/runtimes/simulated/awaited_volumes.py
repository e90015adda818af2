"""Volumes of simulated pods that others must make first: claims that are bound, and certificates
that are issued. They are looked for again and again until they are there.

One task per pod that has such volumes and has not started; other pods cost nothing here.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from proreus.aio.clock import Clock
from proreus.client import Client
from proreus.cluster.kubelet.runtimes.claimed_volumes import (
    claimed_volumes,
    claims_mounted,
)
from proreus.cluster.kubelet.runtimes.pod_certificates import PodCertificates
from proreus.cluster.kubelet.runtimes.pod_spec.certificate_requests import certificate_requests
from proreus.cluster.kubelet.runtimes.pod_spec.pod_spec import PodSpec
from proreus.cluster.kubelet.runtimes.pod_spec.references import ConfigProblem

_AGAIN_S = 3.0


@dataclass(slots=True)
class _Looking:
    """``problem`` None: nobody has answered yet; empty: all are there."""

    task: asyncio.Task[None] | None = None
    problem: str | None = None


class AwaitedVolumes:
    """``group`` owns the tasks."""

    def __init__(self, client: Client, clock: Clock, group: asyncio.TaskGroup) -> None:
        self._client = client
        self._clock = clock
        self._group = group
        self._pods: dict[str, _Looking] = {}

    def look_for(self, pod: PodSpec, changed: Callable[[], None]) -> None:
        """``changed`` is called when there is another answer."""
        if claims_mounted(pod) or certificate_requests(pod):
            looking = self._pods[pod.uid] = _Looking()
            name = f"volumes of {pod.full_name}"
            looking.task = self._group.create_task(self._look(pod, looking, changed), name=name)

    def problem(self, uid: str) -> str | None:
        """Why the pod cannot start; empty: it can; None: that is not known yet."""
        looking = self._pods.get(uid)
        return "" if looking is None else looking.problem

    def release(self, uid: str) -> None:
        looking = self._pods.pop(uid, None)
        if looking is not None and looking.task is not None:
            looking.task.cancel()

    def close(self) -> None:
        for uid in list(self._pods):
            self.release(uid)

    async def _look(self, pod: PodSpec, looking: _Looking, changed: Callable[[], None]) -> None:
        certificates = PodCertificates(self._client, self._clock)
        while looking.problem != "":
            try:
                await claimed_volumes(self._client, pod)
                await certificates.current(pod)
            except ConfigProblem as problem:
                looking.problem = str(problem)
                changed()
                await self._clock.sleep(_AGAIN_S)
            else:
                looking.problem = ""
                changed()
