"""The simulated runtime: pods that behave as their annotations and commands say.

Everything follows from time and from the objects that pods refer to, which are watched; a pod has
no task of its own.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from contextlib import asynccontextmanager

from proreus.aio.clock import Clock
from proreus.api.object import KubeObject
from proreus.client import Client
from proreus.client.event_recorder import EventRecorder
from proreus.cluster.kubelet.runtimes.runtime import Changed, PodAddresses
from proreus.cluster.kubelet.runtimes.simulated.awaited_volumes import AwaitedVolumes
from proreus.cluster.kubelet.runtimes.simulated.container import Container
from proreus.cluster.kubelet.runtimes.simulated.log import SimulatedLog
from proreus.cluster.kubelet.runtimes.simulated.pod import RunningSimulatedPod, Shared
from proreus.cluster.kubelet.runtimes.simulated.services import PodServices
from proreus.cluster.kubelet.runtimes.states import Running, Terminated, Waiting
from proreus.cluster.kubelet.runtimes.streams import (
    ContainerNotFound,
    Execution,
    LogOptions,
    NotStarted,
    PreviousNotFound,
    Unsupported,
)
from proreus.cluster.kubelet.runtimes.watched_objects import ObjectWatches, WatchedObjects

_FOLLOW_S = 1.0


class SimulatedRuntime:
    """Implements ``runtime.Runtime`` and ``streams.Streams``. Without a ``client`` what pods refer
    to is not looked for."""

    def __init__(
        self,
        clock: Clock,
        recorder: EventRecorder,
        *,
        client: Client | None = None,
        missing_images: Sequence[str] = (),
        watches: ObjectWatches | None = None,
        capacity: Mapping[str, str] | None = None,
    ) -> None:
        self._clock = clock
        self._client = client
        self._watches = watches
        self._shared = Shared(recorder, missing_images, capacity or {})

    @property
    def streams(self) -> SimulatedRuntime:
        return self

    @asynccontextmanager
    async def running(self, changed: Changed) -> AsyncIterator[None]:
        if self._client is None:
            yield
            return
        async with asyncio.TaskGroup() as group:
            objects = WatchedObjects(self._client, self._clock, group, self._watches)
            awaited = AwaitedVolumes(self._client, self._clock, group)
            services = PodServices(self._client, self._clock, group)
            self._shared.objects, self._shared.awaited = objects, awaited
            self._shared.services = services
            self._shared.changed = changed
            try:
                yield
            finally:
                self._shared.objects = self._shared.awaited = self._shared.services = None
                objects.close()
                awaited.close()
                services.close()

    async def sweep(self, uids: Collection[str]) -> None:
        """Nothing of a simulated pod is left anywhere."""

    def begin(self, pod: KubeObject, addresses: PodAddresses, now: float) -> RunningSimulatedPod:
        return RunningSimulatedPod(self._shared, pod, addresses, now)

    async def logs(self, pod_uid: str, container: str, options: LogOptions) -> AsyncIterator[bytes]:
        """What its command prints; if that is not understood, when it started and ended."""
        found = self._container(pod_uid, container)
        rendered = found.last if options.previous else found.state
        match rendered:
            case None:
                raise PreviousNotFound(f'previous terminated container "{container}" not found')
            case Waiting():
                raise NotStarted(f'container "{container}" is waiting to start: {rendered.reason}')
            case Running() | Terminated():
                log = SimulatedLog(found.plan, options)
                yield log.next_piece(rendered, self._clock.now())
        while options.follow and isinstance(rendered, Running) and found.state == rendered:
            await self._clock.sleep(_FOLLOW_S)
            if pod_uid not in self._shared.pods:
                return
            if piece := log.next_piece(rendered, self._clock.now()):
                yield piece
        if options.follow and isinstance(rendered, Running):
            ended = found.state if isinstance(found.state, Terminated) else found.last
            if ended is not None and (piece := log.next_piece(ended, ended.finished_at)):
                yield piece

    async def execute(
        self, pod_uid: str, container: str, command: Sequence[str], *, stdin: bool, tty: bool
    ) -> Execution:
        raise Unsupported("a simulated container has no processes: there is nothing to exec in")

    async def attach(self, pod_uid: str, container: str, *, stdin: bool, tty: bool) -> Execution:
        raise Unsupported("a simulated container has no processes: there is nothing to attach to")

    async def connect(
        self, pod_uid: str, port: int
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        raise Unsupported("a simulated pod has no ports: there is nothing to connect to")

    def _container(self, pod_uid: str, name: str) -> Container:
        pod = self._shared.pods.get(pod_uid)
        for container in pod.all() if pod else ():
            if container.plan.name == name:
                return container
        raise ContainerNotFound(f'container "{name}" not found')
