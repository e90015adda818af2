"""The service variables of simulated pods whose commands read them: looked up once per pod.

One task per such pod until the server has answered; other pods cost nothing here.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping

from proreus.aio.clock import Clock
from proreus.api.status import ApiError
from proreus.client import Client, TransportError
from proreus.cluster.kubelet.runtimes.pod_spec.pod_spec import PodSpec
from proreus.cluster.kubelet.runtimes.service_variables import read_service_variables
from proreus.cluster.kubelet.runtimes.simulated.pod_tasks import PodTasks

log = logging.getLogger(__name__)

_AGAIN_S = 3.0


class PodServices:
    """``group`` owns the tasks."""

    def __init__(self, client: Client, clock: Clock, group: asyncio.TaskGroup) -> None:
        self._client = client
        self._clock = clock
        self._tasks = PodTasks(group)
        self._found: dict[str, Mapping[str, str]] = {}  # by the pods' uids

    def look_for(self, pod: PodSpec, changed: Callable[[], None]) -> None:
        """Once per pod; ``changed`` is called when there is an answer."""
        if pod.uid not in self._tasks:
            self._tasks.start(pod.uid, f"services of {pod.full_name}", self._look(pod, changed))

    def variables(self, uid: str) -> Mapping[str, str] | None:
        """None: not known yet."""
        return self._found.get(uid)

    def release(self, uid: str) -> None:
        self._tasks.cancel(uid)
        self._found.pop(uid, None)

    def close(self) -> None:
        self._tasks.cancel_all()
        self._found.clear()

    async def _look(self, pod: PodSpec, changed: Callable[[], None]) -> None:
        is_reported = False
        while pod.uid not in self._found:
            try:
                self._found[pod.uid] = await read_service_variables(self._client, pod)
            except (ApiError, TransportError) as failure:
                if not is_reported:
                    log.warning(
                        "services not read, pod waits: pod=%s why=%s", pod.full_name, failure
                    )
                    is_reported = True
                await self._clock.sleep(_AGAIN_S)
        changed()
