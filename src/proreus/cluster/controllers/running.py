"""All controllers in one process: shared informers, supervision, and a Lease if several run."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType

from proreus.aio.backoff import Backoff
from proreus.aio.clock import Clock
from proreus.aio.tasks import supervise
from proreus.client.client import Client
from proreus.client.informer import ReflectorConfig, SharedInformerFactory, drop_managed_fields
from proreus.cluster.controller_settings import ControllerSettings
from proreus.cluster.controllers.autoscaler import autoscaler_controller
from proreus.cluster.controllers.certificates import (
    RequestCleaner,
    approving_controller,
    signing_controller,
)
from proreus.cluster.controllers.cluster_role_aggregation import cluster_role_aggregation_controller
from proreus.cluster.controllers.context import ControllerContext, Runnable
from proreus.cluster.controllers.cron_job import cron_job_controller
from proreus.cluster.controllers.daemon_set import daemon_set_controller
from proreus.cluster.controllers.deployment import deployment_controller
from proreus.cluster.controllers.disruption import disruption_controller
from proreus.cluster.controllers.endpoint_slice import (
    endpoint_mirroring_controller,
    endpoint_slice_controller,
)
from proreus.cluster.controllers.garbage_collector import GarbageCollector
from proreus.cluster.controllers.job import job_controller, orphaned_pods_controller
from proreus.cluster.controllers.namespace import namespace_controller
from proreus.cluster.controllers.node_lifecycle import node_lifecycle_controller
from proreus.cluster.controllers.pod_garbage_collector import PodGarbageCollector
from proreus.cluster.controllers.replica_set import replica_set_controller, replication_controller
from proreus.cluster.controllers.resource_quota import ResourceQuotas
from proreus.cluster.controllers.service_account import (
    root_ca_controller,
    service_account_controller,
)
from proreus.cluster.controllers.service_accounts import ACCOUNTS, AccountClients
from proreus.cluster.controllers.service_cidrs import service_cidr_controller
from proreus.cluster.controllers.stateful_set import stateful_set_controller
from proreus.cluster.controllers.storage_migration import storage_migration_controller
from proreus.cluster.controllers.storage_protection import (
    attributes_class_protection_controller,
    claim_protection_controller,
    volume_protection_controller,
)
from proreus.cluster.controllers.volumes import (
    ephemeral_volume_controller,
    volume_binder_controller,
    volume_deleter_controller,
    volume_phases_controller,
    volume_provisioner_controller,
)
from proreus.cluster.leader_election import Candidacy, run_as_leader

log = logging.getLogger(__name__)

# A process that starts must not act on the past: an API server that is behind would have it make
# again what is there already.
_NEWEST_FIRST = ReflectorConfig(begins_newest=True)

LEASE_NAME = "proreus-controllers"

ControllerFactory = Callable[[ControllerContext], Runnable]
CONTROLLERS: Mapping[str, ControllerFactory] = MappingProxyType(
    {
        "replicaset": replica_set_controller,
        "replicationcontroller": replication_controller,
        "deployment": deployment_controller,
        "statefulset": stateful_set_controller,
        "job": job_controller,
        "job-orphans": orphaned_pods_controller,
        "endpointslice": endpoint_slice_controller,
        "endpointslice-mirroring": endpoint_mirroring_controller,
        "cronjob": cron_job_controller,
        "daemonset": daemon_set_controller,
        "node-lifecycle": node_lifecycle_controller,
        "namespace": namespace_controller,
        "serviceaccount": service_account_controller,
        "root-ca": root_ca_controller,
        "clusterrole-aggregation": cluster_role_aggregation_controller,
        "csrapproving": approving_controller,
        "csrsigning": signing_controller,
        "csrcleaner": RequestCleaner,
        "disruption": disruption_controller,
        "horizontalpodautoscaler": autoscaler_controller,
        "resourcequota": ResourceQuotas,
        "pod-garbage": PodGarbageCollector,
        "pvc-protection": claim_protection_controller,
        "pv-protection": volume_protection_controller,
        "volumeattributesclass-protection": attributes_class_protection_controller,
        "persistentvolume-binder": volume_binder_controller,
        "persistentvolume-phases": volume_phases_controller,
        "volume-provisioner": volume_provisioner_controller,
        "volume-deleter": volume_deleter_controller,
        "ephemeral-volume": ephemeral_volume_controller,
        "garbage-collector": GarbageCollector,
        "service-cidr": service_cidr_controller,
        "storage-version-migrator": storage_migration_controller,
    }
)


async def run_controllers(
    client: Client,
    clock: Clock,
    *,
    settings: ControllerSettings | None = None,
    candidacy: Candidacy | None = None,
    controllers: Mapping[str, ControllerFactory] = CONTROLLERS,
) -> None:
    """Until cancelled. With a ``candidacy``, of several callers one works at a time."""
    run_all = partial(_run_all, client, clock, settings or ControllerSettings(), controllers)
    if candidacy is None:
        await run_all()
    else:
        await run_as_leader(client, clock, LEASE_NAME, candidacy, run_all)


async def _run_all(
    client: Client,
    clock: Clock,
    settings: ControllerSettings,
    controllers: Mapping[str, ControllerFactory],
) -> None:
    async with (
        AccountClients(client, clock) as accounts,
        SharedInformerFactory(
            client, clock=clock, transform=drop_managed_fields, config=_NEWEST_FIRST
        ) as informers,
        asyncio.TaskGroup() as parts,
    ):
        for name, build in controllers.items():
            context = ControllerContext(client, clock, informers, parts, settings)
            if settings.use_service_account_credentials and name in ACCOUNTS:
                context.client, context.accounts = accounts.of(ACCOUNTS[name]), accounts
            run = partial(_run_one, context, build)
            supervised = supervise(
                f"controller {name}", run, clock=clock, backoff=Backoff(clock), died=_died
            )
            parts.create_task(supervised, name=f"controller {name}")


async def _run_one(context: ControllerContext, build: ControllerFactory) -> None:
    """A controller runs once; one that died is built anew, over the informers that are there."""
    part = build(context)
    context.informers.start()
    await part.run()


def _died(part: str, why: BaseException | None, delay_s: float) -> None:
    log.error("part died, restarting: part=%s delay_s=%.1f", part, delay_s, exc_info=why)
