"""The heartbeat of one node: its Lease, renewed four times per duration, and its Node status.

A lease costs one small write per period; the status is written when it differs, and every five
minutes. ``writes`` is shared by all nodes of the process, so that hundreds of them do not arrive at
the server at once.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import random

from proreus.aio.backoff import Backoff
from proreus.aio.clock import Clock
from proreus.api.json_types import JsonObject
from proreus.api.object import KubeObject
from proreus.api.status import AlreadyExists, ApiError, Conflict, NotFound
from proreus.api.values.timestamp import format_micro_time
from proreus.client import Client, Lister, TransportError
from proreus.cluster.kubelet.node import (
    NodeDescription,
    is_allocatable,
    is_healthy,
    node_object,
    node_status,
    status_patch,
    taints_when_ready,
)

log = logging.getLogger(__name__)

LEASE_NAMESPACE = "kube-node-lease"
STATUS_S = 300.0
_JITTER = 0.04
STEP_S, _STEPS_MIN = 1.0, 5  # in a period; a shorter one is not rounded


def in_step(now: float, delay_s: float) -> float:
    """The delay until the nearest whole step. Nodes of one process then beat in the same moments,
    some of them each second: what the server writes and tells at once costs less, and a process
    that has nothing else to do wakes up less."""
    return max(0.0, round((now + delay_s) / STEP_S) * STEP_S - now)


class Heartbeat:
    """``run`` registers the node, then keeps it alive until cancelled."""

    def __init__(
        self,
        client: Client,
        clock: Clock,
        node: NodeDescription,
        known: Lister,
        writes: asyncio.Semaphore,
        *,
        lease_s: int,
        removes_taints: bool,
    ) -> None:
        """``removes_taints``: takes the taint of a node that is not ready away, which no user of a
        node may."""
        self._nodes = client.core_v1.nodes
        self._leases = client.coordination_v1.leases(LEASE_NAMESPACE)
        self._clock = clock
        self._node = node
        self._known = known
        self._writes = writes
        self._removes_taints = removes_taints
        self._lease_s, self._renew_s = lease_s, lease_s / 4
        self._lease: KubeObject | None = None
        self._status_at = float("-inf")

    async def run(self) -> None:
        backoff = Backoff(self._clock, initial_s=0.2, cap_s=7.0, reset_after_s=self._renew_s)
        # The second beat comes at any moment of a period: nodes that begin together, as those of
        # one process do, are spread over it from then on.
        phase = random.random()
        while True:
            try:
                async with self._writes:
                    await self._beat()
                delay_s = self._renew_s * phase * (1 + _JITTER * random.random())
                phase = 1.0
            except (ApiError, TransportError) as failure:
                delay_s = backoff.next()
                log.warning(
                    "heartbeat failed: node=%s failure=%r retry_in_s=%.1f",
                    self._node.name, failure, delay_s,
                )  # fmt: skip
            if self._renew_s >= _STEPS_MIN * STEP_S:
                delay_s = in_step(self._clock.monotonic(), delay_s)
            await self._clock.sleep(delay_s)

    async def _beat(self) -> None:
        node = self._known.find(self._node.name)
        if node is None:
            node = await self._register()
        await self._renew(node)
        now = self._clock.monotonic()
        is_current = is_healthy(node) and is_allocatable(self._node, node)
        if not is_current or now - self._status_at >= STATUS_S:
            status = node_status(self._node, node, self._clock.now())
            patch = status_patch(status, node)
            node = await self._nodes.patch_status(node.name, patch, type="strategic")
            self._status_at = now
        taints = taints_when_ready(node) if self._removes_taints else None
        if taints is not None:
            version = {"resourceVersion": node.resource_version}
            patch = {"metadata": version, "spec": {"taints": taints or None}}
            # A lifecycle controller that was faster has done the same; if not, the next beat will.
            with contextlib.suppress(Conflict):
                await self._nodes.patch(node.name, patch)

    async def _register(self) -> KubeObject:
        try:
            made = await self._nodes.create(node_object(self._node, self._clock.now()))
        except AlreadyExists:
            return await self._nodes.get(self._node.name)
        self._status_at = self._clock.monotonic() - STATUS_S * random.random()  # spread, too
        log.info("node registered: node=%s", made.name)
        return made

    async def _renew(self, node: KubeObject) -> None:
        """With the copy at hand; if that is outdated, with a fresh one."""
        if self._lease is not None:
            try:
                self._lease = await self._leases.replace(self._renewed(self._lease))
                return
            except (Conflict, NotFound):
                self._lease = None
        try:
            found = await self._leases.get(node.name)
        except NotFound:
            self._lease = await self._leases.create(self._first(node))
        else:
            self._lease = await self._leases.replace(self._renewed(found))

    def _renewed(self, lease: KubeObject) -> JsonObject:
        content = lease.to_dict()
        content["spec"] = {**(content.get("spec") or {}), **self._record()}
        return content

    def _first(self, node: KubeObject) -> JsonObject:
        owner = {"apiVersion": "v1", "kind": "Node", "name": node.name, "uid": node.uid}
        metadata = {"name": node.name, "namespace": LEASE_NAMESPACE, "ownerReferences": [owner]}
        return {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": metadata,
            "spec": self._record(),
        }

    def _record(self) -> JsonObject:
        return {
            "holderIdentity": self._node.name,
            "leaseDurationSeconds": self._lease_s,
            "renewTime": format_micro_time(self._clock.now()),
        }
