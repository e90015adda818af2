"""The kubelet, for any number of nodes in one process.

One informer of pods serves all nodes, and pods are assigned by ``spec.nodeName``: a watch per node
would be 500 connections, each with its own bookmarks and time-outs, for the same bytes. With a
single node the server filters instead, so that the process sees only its own pods; if the server
knows it as that node, it may see nothing else.

    pods informer → one queue → Pods.reconcile → status        Heartbeat per node → lease, status
                                      ⇅
                                   Runtime ←── logs, commands, connections ── KubeletServer
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Coroutine, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from proreus.aio.clock import Clock, SteadyClock
from proreus.aio.tasks import background
from proreus.api.object import plain_field
from proreus.api.status import Forbidden, NotFound
from proreus.client import Client
from proreus.client.controller import Controller
from proreus.client.event_recorder import WAITING_MAX, EventRecorder
from proreus.client.informer import (
    Lister,
    Notification,
    SharedInformer,
    SharedInformerFactory,
    drop_managed_fields,
)
from proreus.cluster.kubelet.addresses import NodeAddresses, node_addresses, own_addresses
from proreus.cluster.kubelet.heartbeat import Heartbeat
from proreus.cluster.kubelet.node import KubeletEndpoint, NodeDescription, simulated_capacity
from proreus.cluster.kubelet.pods import Listers, Pods
from proreus.cluster.kubelet.runtimes.runtime import Runtime
from proreus.cluster.kubelet.runtimes.simulated.runtime import SimulatedRuntime
from proreus.cluster.kubelet.settings import NODE_PREFIX, KubeletSettings
from proreus.cluster.kubelet.shared_by_kubelets import SharedByKubelets
from proreus.cluster.pod_status import node_name

log = logging.getLogger(__name__)

_WORKERS_MAX = 16  # of a process
_HEARTBEATS_AT_ONCE = 8
_SWEEP_S = 60.0
_EVENTS_WAITING_MAX = 20_000


class Kubelet:
    """Runs the pods of the nodes ``names``. ``run`` it once."""

    def __init__(
        self,
        client: Client,
        clock: Clock,
        names: Sequence[str],
        settings: KubeletSettings | None = None,
        shared: SharedByKubelets | None = None,
    ) -> None:
        """``shared``: with the other kubelets of the process."""
        self._client = client
        self._clock = clock
        # Leases have wall-clock times; timers of pods must not move when that clock is set.
        self._pod_clock = SteadyClock(clock)
        self._names = list(names)
        self._is_node = False
        self._settings = settings or KubeletSettings()
        self._shared = shared or SharedByKubelets(self._settings, clock)
        # As many as the nodes would keep in processes of their own, within reason.
        waiting_max = min(WAITING_MAX * len(self._names), _EVENTS_WAITING_MAX)
        self._recorder = EventRecorder(
            client.core_v1.events,
            "kubelet",
            waiting_max=waiting_max,
            writers=self._settings.workers,
            turns=self._shared.event_turns,
            clock=clock,
        )
        if self._settings.runtime == "process":
            if len(self._names) != 1:
                raise ValueError("the process runtime is one node: this machine")
            if self._settings.folder is None:
                raise ValueError("the process runtime needs a folder")

    async def run(self) -> None:
        """Until cancelled. The nodes stay registered: they are not ready once leases run out."""
        version = str((await self._client.version()).get("gitVersion") or "")
        self._is_node = len(self._names) == 1 and await self._is_user_of(self._names[0])
        async with (
            background(self._recorder.run()),
            SharedInformerFactory(
                self._client, transform=drop_managed_fields, clock=self._clock
            ) as informers,
        ):
            nodes, pods = self._informers(informers)
            informers.start()
            await nodes.wait_synced()
            addresses = self._addresses(nodes.lister)
            runtime = self._runtime()
            seen = Listers(nodes.lister, pods.lister)
            work = Pods(self._client, self._pod_clock, self._recorder, addresses, runtime, seen)
            controller = self._controller(pods, addresses, work)

            def changed(key: str) -> None:
                work.touch(key)
                controller.queue.add(key)

            async with (
                runtime.running(changed),
                self._endpoint(nodes.lister, pods.lister, runtime) as endpoint,
            ):
                descriptions = self._descriptions(addresses, version, endpoint)
                beats = self._heartbeats(descriptions, nodes.lister)
                async with background(*beats, self._keep_sweeping(pods, runtime)):
                    await pods.wait_synced()
                    work.resume(pods.lister.list())
                    await controller.run()

    def _informers(self, informers: SharedInformerFactory) -> tuple[SharedInformer, SharedInformer]:
        selector = f"spec.nodeName={self._names[0]}" if len(self._names) == 1 else "spec.nodeName!="
        visible = f"metadata.name={self._names[0]}" if self._is_node else ""
        return (
            informers.informer("nodes", field_selector=visible),
            informers.informer("pods", field_selector=selector),
        )

    async def _is_user_of(self, node: str) -> bool:
        """Whether the server knows this process as the node, which may see nobody but itself."""
        reviews = self._client.authentication_v1.selfsubjectreviews
        try:
            who = await reviews.create({})
        except (NotFound, Forbidden):  # an old server; nobody in particular
            return False
        return bool(who.status.userInfo.username == f"{NODE_PREFIX}{node}")

    def _addresses(self, nodes: Lister) -> dict[str, NodeAddresses]:
        if self._settings.runtime == "process":
            from proreus.cluster.kubelet.machine import loopback_addresses

            own = loopback_addresses(self._node_folder(), self._settings.host)
            return {self._names[0]: own}
        if self._is_node:
            [name] = self._names
            known = nodes.find(name)
            taken = (known.get("spec") or {}).get("podCIDR") if known is not None else None
            return {name: own_addresses(name, taken or "")}
        # All nodes, not only ours: their addresses are taken.
        taken = [
            (node.name, node.spec.podCIDR)
            for node in nodes.list()
            if node.spec is not None and node.spec.podCIDR
        ]
        return node_addresses(self._names, taken)

    def _runtime(self) -> Runtime:
        if self._settings.runtime == "simulated":
            return SimulatedRuntime(
                self._pod_clock,
                self._recorder,
                client=self._client,
                missing_images=self._settings.missing_images,
                watches=self._shared.watches,
                capacity=simulated_capacity(),
            )
        # Loaded when asked for: most clusters simulate.
        from proreus.cluster.kubelet.machine import machine_capacity
        from proreus.cluster.kubelet.runtimes.process.runtime import ProcessRuntime

        folder = self._node_folder()
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        return ProcessRuntime(
            self._client, self._pod_clock, self._recorder, folder, machine_capacity(folder)
        )

    def _node_folder(self) -> Path:
        assert self._settings.folder is not None, "checked by the constructor"
        return self._settings.folder / self._names[0]

    def _descriptions(
        self, addresses: dict[str, NodeAddresses], version: str, endpoint: KubeletEndpoint | None
    ) -> list[NodeDescription]:
        if self._settings.runtime == "simulated":
            return [
                NodeDescription(name, at.pod_cidr, at.host_ip, version, endpoint)
                for name, at in addresses.items()
            ]
        from proreus.cluster.kubelet.machine import machine_capacity, machine_system

        capacity, system = machine_capacity(self._node_folder()), machine_system()
        return [
            NodeDescription(name, at.pod_cidr, at.host_ip, version, endpoint, capacity, system)
            for name, at in addresses.items()
        ]

    def _heartbeats(
        self, nodes: Sequence[NodeDescription], known: Lister
    ) -> list[Coroutine[None, None, None]]:
        writes = asyncio.Semaphore(_HEARTBEATS_AT_ONCE)
        return [
            Heartbeat(
                self._client,
                self._clock,
                node,
                known,
                writes,
                lease_s=self._settings.lease_s,
                removes_taints=not self._is_node,
            ).run()
            for node in nodes
        ]

    @asynccontextmanager
    async def _endpoint(
        self, nodes: Lister, pods: Lister, runtime: Runtime
    ) -> AsyncIterator[KubeletEndpoint | None]:
        """Where the API server reaches the runtime; None: no authority to authenticate it by."""
        from proreus.cluster.kubelet.server import KubeletServer
        from proreus.cluster.kubelet.server.node_pages import NodeFacts

        settings, names = self._settings, frozenset(self._names)
        begun = self._clock.now()

        def describe(name: str) -> NodeFacts | None:
            name = name or self._names[0]
            found = nodes.find(name) if name in names else None
            if found is None:
                return None
            return NodeFacts(
                name=name,
                capacity=plain_field(found, "status").get("capacity") or {},
                begun=begun,
                is_idle=settings.runtime == "simulated",
                pods=[pod for pod in pods.list() if pod.spec.nodeName == name],
                lease_s=settings.lease_s,
            )

        tls = await self._shared.endpoint_tls.context(self._client.config)
        if tls is None:
            log.warning("no endpoint for logs and commands: no authority for its clients")
            yield None
            return
        server = KubeletServer(
            clock=self._clock,
            find_pod=lambda namespace, name: pods.find(name, namespace),
            list_pods=lambda: [pod for pod in pods.list() if pod.spec.nodeName in names],
            streams_of=lambda node: runtime.streams,
            describe=describe,
            tls=tls,
            host=settings.host,
        )
        async with server.run():
            yield KubeletEndpoint(settings.host, server.port)

    async def _keep_sweeping(self, pods: SharedInformer, runtime: Runtime) -> None:
        await pods.wait_synced()
        while True:
            await runtime.sweep({pod.uid for pod in pods.lister.list()})
            await self._clock.sleep(_SWEEP_S)

    def _controller(
        self, pods: SharedInformer, addresses: dict[str, NodeAddresses], work: Pods
    ) -> Controller:
        def concerns_us(notification: Notification) -> bool:
            found = notification.new
            if found is not None and work.is_settled_at(found):
                return False
            return node_name(notification.object) in addresses

        workers = min(_WORKERS_MAX, self._settings.workers * len(self._names))
        return Controller(
            work.reconcile, pods, when=concerns_us, name="kubelet", concurrency=workers
        )

    def __repr__(self) -> str:
        return f"<Kubelet of {len(self._names)} nodes>"
