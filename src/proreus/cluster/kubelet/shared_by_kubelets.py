"""What the kubelets of one process share. Light, as ``settings``."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from proreus.aio.clock import Clock
from proreus.cluster.kubelet.endpoint_tls import EndpointTls
from proreus.cluster.kubelet.settings import KubeletSettings

if TYPE_CHECKING:
    from proreus.cluster.kubelet.runtimes.watched_objects import ObjectWatches


class SharedByKubelets:
    """``endpoint_tls``: they share a folder. ``watches``: their pods refer to the same objects."""

    def __init__(self, settings: KubeletSettings, clock: Clock) -> None:
        self.endpoint_tls = EndpointTls(settings, clock)

    @cached_property
    def watches(self) -> ObjectWatches:
        from proreus.cluster.kubelet.runtimes.watched_objects import ObjectWatches

        return ObjectWatches()
