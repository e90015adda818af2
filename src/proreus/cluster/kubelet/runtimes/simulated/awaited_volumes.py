"""Volumes of simulated pods that others must make first: claims that are bound, and certificates
that are issued. They are looked for again and again until they are there. Certificates are asked
for anew before they end, for as long as the pod runs.

One task per pod that has certificates, or has claims and has not started; others cost nothing here.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

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
from proreus.cluster.kubelet.runtimes.simulated.pod_tasks import PodTasks

log = logging.getLogger(__name__)

_AGAIN_S = 3.0
_RENEW_AGAIN_S = 60.0


class AwaitedVolumes:
    """``group`` owns the tasks."""

    def __init__(self, client: Client, clock: Clock, group: asyncio.TaskGroup) -> None:
        self._client = client
        self._clock = clock
        self._tasks = PodTasks(group)
        self._problems: dict[str, str] = {}  # by the pods' uids; empty: all are there

    def look_for(self, pod: PodSpec, changed: Callable[[], None]) -> None:
        """``changed`` is called when there is another answer."""
        if claims_mounted(pod) or certificate_requests(pod):
            self._tasks.start(pod.uid, f"volumes of {pod.full_name}", self._look(pod, changed))

    def problem(self, uid: str) -> str | None:
        """Why the pod cannot start; empty: it can; None: that is not known yet."""
        return self._problems.get(uid) if uid in self._tasks else ""

    def release(self, uid: str) -> None:
        self._tasks.cancel(uid)
        self._problems.pop(uid, None)

    def close(self) -> None:
        self._tasks.cancel_all()
        self._problems.clear()

    async def _look(self, pod: PodSpec, changed: Callable[[], None]) -> None:
        certificates = PodCertificates(self._client, self._clock)
        while True:
            try:
                await claimed_volumes(self._client, pod)
                await certificates.current(pod)
            except ConfigProblem as problem:
                self._problems[pod.uid] = str(problem)
                changed()
                await self._clock.sleep(_AGAIN_S)
            else:
                break
        self._problems[pod.uid] = ""
        changed()
        if certificate_requests(pod):
            await self._renew(pod, certificates)

    async def _renew(self, pod: PodSpec, certificates: PodCertificates) -> None:
        """What the pod holds stays when there is no other: it has started."""
        while True:
            await self._clock.sleep(max(certificates.next_look - self._clock.now(), _AGAIN_S))
            try:
                await certificates.current(pod)
            except ConfigProblem as problem:
                log.info("certificate not renewed: pod=%s problem=%s", pod.full_name, problem)
                await self._clock.sleep(_RENEW_AGAIN_S)
