"""What the kubelets of one process share. Light, as ``settings``."""

from __future__ import annotations

import asyncio
from functools import cached_property
from typing import TYPE_CHECKING

from proreus.aio.clock import Clock
from proreus.cluster.kubelet.endpoint_tls import EndpointTls
from proreus.cluster.kubelet.settings import KubeletSettings

if TYPE_CHECKING:
    from proreus.cluster.kubelet.runtimes.watched_objects import ObjectWatches

_EVENTS_AT_ONCE = 4  # as a single node has


class SharedByKubelets:
    """``endpoint_tls``: they share a folder. ``watches``: their pods refer to the same objects.
    ``event_turns``: a hundred nodes would write their events at once, while the server is busy
    with the pods that these are about."""

    def __init__(self, settings: KubeletSettings, clock: Clock) -> None:
        self.endpoint_tls = EndpointTls(settings, clock)
        self.event_turns = asyncio.Semaphore(_EVENTS_AT_ONCE)

    @cached_property
    def watches(self) -> ObjectWatches:
        from proreus.cluster.kubelet.runtimes.watched_objects import ObjectWatches

        return ObjectWatches()
