"""All controllers in one process: shared informers, supervision, and a Lease if several run."""

from __future__ import annotations

import asyncio
import logging
import os
import socket
from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType

from proreus.aio.backoff import Backoff
from proreus.aio.clock import Clock
from proreus.aio.tasks import supervise
from proreus.client.client import Client
from proreus.client.informer import SharedInformerFactory, drop_managed_fields
from proreus.client.leader_election import LeaderElector, LeadershipLost, LeaseLock
from proreus.cluster.controllers.cron_job import cron_job_controller
from proreus.cluster.controllers.daemon_set import daemon_set_controller
from proreus.cluster.controllers.deployment import deployment_controller
from proreus.cluster.controllers.endpoint_slice import endpoint_slice_controller
from proreus.cluster.controllers.garbage_collector import GarbageCollector
from proreus.cluster.controllers.job import job_controller
from proreus.cluster.controllers.namespace import namespace_controller
from proreus.cluster.controllers.node_lifecycle import node_lifecycle_controller
from proreus.cluster.controllers.pod_garbage import PodGarbage
from proreus.cluster.controllers.replica_set import replica_set_controller
from proreus.cluster.controllers.service_account import (
    root_ca_controller,
    service_account_controller,
)
from proreus.cluster.controllers.setting import Part, Setting

log = logging.getLogger(__name__)

LEASE_NAMESPACE, LEASE_NAME = "kube-system", "proreus-controllers"

Build = Callable[[Setting], Part]
CONTROLLERS: Mapping[str, Build] = MappingProxyType(
    {
        "replicaset": replica_set_controller,
        "deployment": deployment_controller,
        "job": job_controller,
        "endpointslice": endpoint_slice_controller,
        "cronjob": cron_job_controller,
        "daemonset": daemon_set_controller,
        "node-lifecycle": node_lifecycle_controller,
        "namespace": namespace_controller,
        "serviceaccount": service_account_controller,
        "root-ca": root_ca_controller,
        "pod-garbage": PodGarbage,
        "garbage-collector": GarbageCollector,
    }
)


async def run_controllers(
    client: Client,
    clock: Clock,
    *,
    leader_election: bool = False,
    identity: str = "",
    controllers: Mapping[str, Build] = CONTROLLERS,
) -> None:
    """Until cancelled. With ``leader_election`` of several callers one works at a time."""
    if not leader_election:
        await _run_all(client, clock, controllers)
        return
    leases = client.coordination_k8s_io_v1.leases(LEASE_NAMESPACE)
    elector = LeaderElector(
        LeaseLock(leases, LEASE_NAMESPACE, LEASE_NAME),
        identity or f"{socket.gethostname()}_{os.getpid()}",
        clock=clock,
    )
    while True:
        try:
            await elector.run(partial(_run_all, client, clock, controllers))
        except LeadershipLost as lost:
            log.warning("standing again: reason=%s", lost)


async def _run_all(client: Client, clock: Clock, controllers: Mapping[str, Build]) -> None:
    async with (
        SharedInformerFactory(client, clock=clock, transform=drop_managed_fields) as informers,
        asyncio.TaskGroup() as parts,
    ):
        setting = Setting(client, clock, informers, parts)
        for name, build in controllers.items():
            run = partial(_run_one, setting, build)
            supervised = supervise(
                f"controller {name}", run, clock=clock, backoff=Backoff(clock), died=_died
            )
            parts.create_task(supervised, name=f"controller {name}")


async def _run_one(setting: Setting, build: Build) -> None:
    """A controller runs once; one that died is built anew, over the informers that are there."""
    part = build(setting)
    setting.informers.start()
    await part.run()


def _died(part: str, why: BaseException | None, delay_s: float) -> None:
    log.error("part died, restarting: part=%s delay_s=%.1f", part, delay_s, exc_info=why)
