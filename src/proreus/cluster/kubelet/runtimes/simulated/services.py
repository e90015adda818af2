"""The service variables of simulated pods whose commands read them: looked up once per pod.

One task per such pod until the server has answered; other pods cost nothing here.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from proreus.aio.clock import Clock
from proreus.api.status import ApiError
from proreus.client import Client, TransportError
from proreus.cluster.kubelet.runtimes.pod_spec.pod_spec import PodSpec
from proreus.cluster.kubelet.runtimes.service_variables import read_service_variables

_AGAIN_S = 3.0


@dataclass(slots=True)
class _Looking:
    """``found`` None: nobody has answered yet."""

    task: asyncio.Task[None] | None = None
    found: Mapping[str, str] | None = None


class PodServices:
    """``group`` owns the tasks."""

    def __init__(self, client: Client, clock: Clock, group: asyncio.TaskGroup) -> None:
        self._client = client
        self._clock = clock
        self._group = group
        self._pods: dict[str, _Looking] = {}

    def look_for(self, pod: PodSpec, changed: Callable[[], None]) -> None:
        """Once per pod; ``changed`` is called when there is an answer."""
        if pod.uid not in self._pods:
            looking = self._pods[pod.uid] = _Looking()
            name = f"services of {pod.full_name}"
            looking.task = self._group.create_task(self._look(pod, looking, changed), name=name)

    def variables(self, uid: str) -> Mapping[str, str] | None:
        """None: not known yet."""
        looking = self._pods.get(uid)
        return None if looking is None else looking.found

    def release(self, uid: str) -> None:
        looking = self._pods.pop(uid, None)
        if looking is not None and looking.task is not None:
            looking.task.cancel()

    def close(self) -> None:
        for uid in list(self._pods):
            self.release(uid)

    async def _look(self, pod: PodSpec, looking: _Looking, changed: Callable[[], None]) -> None:
        while looking.found is None:
            try:
                looking.found = await read_service_variables(self._client, pod)
            except (ApiError, TransportError):
                await self._clock.sleep(_AGAIN_S)
        changed()
