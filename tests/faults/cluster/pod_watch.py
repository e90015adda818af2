"""A recorded watch of pods that outlives the server: it resumes from the last version it heard."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable

from proreus.api.object import KubeObject
from proreus.api.status import ServiceUnavailable, TooManyRequests
from proreus.client import Client
from proreus.net.client.transport_error import TransportError
from tests.faults.cluster.history import PodEvent

TIMEOUT_S = 60
_AGAIN_S = 0.05


class PodWatch:
    """``run`` it beside the rollout. ``before`` are the pods at the start, ``history`` the rest."""

    def __init__(self, client: Client, namespace: str) -> None:
        self._pods = client.core_v1.pods(namespace)
        self._changed = asyncio.Condition()
        self._version = ""
        self.before: list[KubeObject] = []
        self.history: list[PodEvent] = []
        self.resumed = 0

    async def begin(self) -> None:
        listed = await self._pods.list()
        self.before, self._version = list(listed.items), listed.resource_version

    async def run(self) -> None:
        while True:
            # A version that is too old would be a hole in the history: Expired is not survived.
            with contextlib.suppress(TransportError, ServiceUnavailable, TooManyRequests):
                await self._follow()
            self.resumed += 1
            await asyncio.sleep(_AGAIN_S)

    async def wait(self, holds: Callable[[], bool]) -> None:
        async with asyncio.timeout(TIMEOUT_S), self._changed:
            await self._changed.wait_for(holds)

    async def _follow(self) -> None:
        async with self._pods.watch(resource_version=self._version, timeout_s=600) as events:
            async for event in events:
                if event.type != "BOOKMARK":
                    self.history.append(PodEvent(event.type, event.object))
                self._version = event.object.resource_version
                async with self._changed:
                    self._changed.notify_all()
