"""The kubelet, for any number of nodes in one process.

One informer of pods serves all nodes and pods are told apart by ``spec.nodeName``: a watch per node
would be 500 connections, each with its own bookmarks and time-outs, for the same bytes. With a
single node the server filters instead, so that the process sees only its own pods.

    pods informer → one queue → Pods.reconcile → status        Heartbeat per node → lease, status
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from proreus.aio.clock import Clock
from proreus.aio.tasks import background
from proreus.client import Client
from proreus.client.controller import Controller, Watch
from proreus.client.event_recorder import EventRecorder
from proreus.client.informer import (
    Notification,
    SharedInformer,
    SharedInformerFactory,
    drop_managed_fields,
)
from proreus.cluster.kubelet.addresses import NodeAddresses, node_addresses
from proreus.cluster.kubelet.heartbeat import Heartbeat
from proreus.cluster.kubelet.node import NodeDescription
from proreus.cluster.kubelet.pods import Pods

_WORKERS = 16
_HEARTBEATS_AT_ONCE = 8


def node_names(count: int, prefix: str = "node") -> list[str]:
    return [f"{prefix}-{number}" for number in range(1, count + 1)]


class Kubelet:
    """Runs the pods of the nodes ``names`` with the simulated runtime. ``run`` it once."""

    def __init__(self, client: Client, clock: Clock, names: Sequence[str]) -> None:
        self._client = client
        self._clock = clock
        self._names = list(names)
        self._recorder = EventRecorder(client.core_v1.events, "kubelet", clock=clock)

    async def run(self) -> None:
        """Until cancelled. The nodes stay registered: they are not ready once leases run out."""
        version = str((await self._client.version()).get("gitVersion") or "")
        async with (
            background(self._recorder.run()),
            SharedInformerFactory(
                self._client, transform=drop_managed_fields, clock=self._clock
            ) as informers,
        ):
            nodes, pods = self._informers(informers)
            informers.start()
            await nodes.wait_synced()
            # All nodes, not only ours: their addresses are taken.
            taken = [
                (node.name, node.spec.podCIDR)
                for node in nodes.lister.list()
                if node.spec is not None and node.spec.podCIDR
            ]
            addresses = node_addresses(self._names, taken)
            writes = asyncio.Semaphore(_HEARTBEATS_AT_ONCE)
            descriptions = [
                NodeDescription(name, at.pod_cidr, at.host_ip, version)
                for name, at in addresses.items()
            ]
            heartbeats = (
                Heartbeat(self._client, self._clock, node, nodes.lister, writes).run()
                for node in descriptions
            )
            async with background(*heartbeats):
                await self._controller(pods, addresses).run()

    def _informers(self, informers: SharedInformerFactory) -> tuple[SharedInformer, SharedInformer]:
        selector = f"spec.nodeName={self._names[0]}" if len(self._names) == 1 else "spec.nodeName!="
        return informers.informer("nodes"), informers.informer("pods", field_selector=selector)

    def _controller(self, pods: SharedInformer, addresses: dict[str, NodeAddresses]) -> Controller:
        def is_ours(notification: Notification) -> bool:
            return notification.object.spec.nodeName in addresses

        work = Pods(self._client, self._clock, addresses, self._recorder)
        return Controller(
            work.reconcile, Watch(pods, when=is_ours), name="kubelet", concurrency=_WORKERS
        )

    def __repr__(self) -> str:
        return f"<Kubelet of {len(self._names)} nodes>"
