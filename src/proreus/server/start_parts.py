"""Objects that a server creates at its start, the parts that keep them, and their health checks.

``make_objects`` is for the time before the watch caches, which begin with what it writes: so a new
server's first events are its users'. ``checks`` says of each thing that kube-apiserver does after
its start, under the names of its health checks, whether it is done here.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping

import structlog

from proreus.aio.clock import Clock
from proreus.aio.supervised_part import NOT_FINISHED, SupervisedPart, Worked
from proreus.api.status import ApiError
from proreus.lazy_dataclass import dataclass
from proreus.server.aggregation.building import Aggregation
from proreus.server.allocation.repair import AddressRepair, default_ranges
from proreus.server.allocation.service_addresses import ServiceAddresses
from proreus.server.allocation.service_ranges import ServiceRanges
from proreus.server.authn.extension_servers import publish_trust
from proreus.server.authz.rbac.bootstrap import bootstrap_roles
from proreus.server.config import ServerConfig
from proreus.server.fairness.fairness import Fairness
from proreus.server.fairness.following import follow_flow_control
from proreus.server.fairness.maintenance import FlowControlObjects, flow_control_objects
from proreus.server.http.health import Check
from proreus.server.membership.advertised_address import advertised_address
from proreus.server.membership.identity_lease import ExpiredLeases, IdentityLease
from proreus.server.membership.kubernetes_service import KubernetesService
from proreus.server.membership.live_servers import LiveServers, OnlyServer
from proreus.server.prometheus import CollectorRegistry
from proreus.server.registry.collections import Collections
from proreus.server.registry.metadata import new_uid
from proreus.server.registry.server_objects import ObjectSet
from proreus.server.storage.interface import StorageError
from proreus.server.storage.resource_stores import ResourceStores
from proreus.server.system_objects import SystemNamespaces, system_objects

_log = structlog.get_logger(__name__)
_GROUP = "admissionregistration.k8s.io"
_ADMISSION = tuple(
    (_GROUP, "v1", plural)
    for plural in (
        "mutatingadmissionpolicies",
        "mutatingadmissionpolicybindings",
        "mutatingwebhookconfigurations",
        "validatingadmissionpolicies",
        "validatingadmissionpolicybindings",
        "validatingwebhookconfigurations",
    )
)
_FLOW_CONTROL = tuple(
    ("flowcontrol.apiserver.k8s.io", "v1", plural)
    for plural in ("flowschemas", "prioritylevelconfigurations")
)
_DEFINITIONS = (("apiextensions.k8s.io", "v1", "customresourcedefinitions"),)
_API_SERVICES = (("apiregistration.k8s.io", "v1", "apiservices"),)
_TRUST, _SYSTEM, _ROLES, _API_SERVICES_MADE = "trust", "system objects", "roles", "API services"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reachability:
    """Where this server is: ``address`` is for others, "" if there is none; ``port`` is known once
    it is bound. ``is_alone``: no other server can have the same store open. ``run_id``: of this run
    of the server, all its workers included."""

    address: str
    bound: str
    port: Callable[[], int]
    is_alone: bool
    run_id: str

    @classmethod
    def of(cls, config: ServerConfig, port: Callable[[], int]) -> Reachability:
        return cls(
            address=advertised_address(config.advertise_address, config.bind_address),
            bound=config.bind_address,
            port=port,
            is_alone=not config.etcd,
            run_id=config.worker.run_id if config.worker is not None else new_uid(),
        )

    def of_others(self) -> str:
        return _joined(self.address, self.port()) if self.address else ""

    def own(self) -> str:
        return _joined(self.bound, self.port())


class StartParts:
    """See the module. ``trust``: what servers of further APIs must know, by their ConfigMap's
    keys."""

    def __init__(  # noqa: PLR0913 - what it starts, and what that needs
        self,
        collections: Collections,
        stores: ResourceStores,
        clock: Clock,
        where: Reachability,
        fairness: Fairness,
        aggregation: Aggregation,
        trust: Mapping[str, str],
        registry: CollectorRegistry,
        *,
        has_rbac: bool,
    ) -> None:
        self._collections = collections
        self._clock = clock
        self._aggregation = aggregation
        self._trust = trust
        self._has_rbac = has_rbac
        self._made: set[str] = set()  # what ``make_objects`` has done
        self._repair = AddressRepair(collections, clock)
        ranges = ServiceRanges(self._repair.note_range_lost)
        ranges.follow(collections.named("networking.k8s.io", "v1", "servicecidrs").cache)
        self._addresses = ServiceAddresses(collections, stores, clock, ranges)
        registry.register(self._addresses.metrics)
        registry.register(self._addresses.port_metrics)
        self._repair.follow()
        servers = (
            OnlyServer(where.address)
            if where.is_alone
            else LiveServers(stores, clock, where.address)
        )
        self._service = KubernetesService(collections, servers, clock, where.port)
        self._lease = IdentityLease(
            collections, clock, socket.gethostname(), where.of_others, where.own, where.run_id
        )
        self._flow_control = FlowControlObjects(collections, fairness, clock)
        follow_flow_control(fairness, collections, self._flow_control.note_change)
        self._fairness = self._supervised("fairness", _at_work(fairness.run))
        self._levels = self._supervised("flow control objects", _at_work(self._flow_control.run))
        self._namespaces = self._supervised(
            "system namespaces", SystemNamespaces(collections, clock).run
        )
        self._published = self._supervised("service kubernetes", self._service.run)
        self._renewed = self._supervised("identity lease", self._lease.run)
        self._expired = self._supervised("expired leases", ExpiredLeases(collections, clock).run)
        self._repaired = self._supervised("service addresses", self._repair_addresses)

    async def make_objects(self) -> None:
        """Raises ApiError, StorageError."""
        for name, objects in self._object_sets():
            await objects.ensure(self._collections, self._clock.now())
            self._made.add(name)
        for publish in (self._service.publish, self._lease.renew):
            try:
                await publish()
            except (ApiError, StorageError) as why:
                # A server starts on a full disk, too: its part tries again.
                _log.warning("this server is not published yet", why=str(why))
        await publish_trust(self._collections, self._clock, self._trust)
        self._made.add(_TRUST)

    def _object_sets(self) -> Iterator[tuple[str, ObjectSet]]:
        """In order: what is in a namespace comes after it."""
        yield _SYSTEM, system_objects(self._clock.now())
        yield "service ranges", default_ranges()
        if self._has_rbac:
            yield _ROLES, bootstrap_roles()
        yield "flow control", flow_control_objects()
        yield _API_SERVICES_MADE, self._aggregation.local.built_in()

    async def run(self) -> None:
        """For ever, once the caches are ready."""
        async with asyncio.TaskGroup() as parts:
            parts.create_task(self._aggregation.run(), name="aggregation")
            for one in (
                self._fairness,
                self._levels,
                self._namespaces,
                self._published,
                self._renewed,
                self._expired,
                self._repaired,
            ):
                parts.create_task(one.run(), name=repr(one))

    async def withdraw(self) -> None:
        """Before the server stops answering."""
        await self._service.withdraw()

    def checks(
        self, serves_definitions: Check, storage: Check, *, of_readiness: bool
    ) -> dict[str, Check]:
        """In the order of kube-apiserver's. What it has a part for and this server has not is done
        by what is asked instead: what informers hold is in the watch caches, and objects are
        counted there; discovery and OpenAPI are made of the served kinds when they are asked for.
        A part that died and waits to be started again is not ready, but no reason to end the
        process.
        """

        def of(part: SupervisedPart) -> Check:
            return part.fault if of_readiness else part.idleness

        filled, published, repaired = self._filled, of(self._published), of(self._repaired)
        registered, aggregates = of(self._aggregation.registration), self._aggregation.idleness
        hooks: dict[str, Check] = {
            "start-apiserver-admission-initializer": filled(_ADMISSION),
            "generic-apiserver-start-informers": self._all_filled,
            "priority-and-fairness-config-consumer": filled(_FLOW_CONTROL),
            "priority-and-fairness-filter": of(self._fairness),
            "storage-object-count-tracker-hook": self._all_filled,
            "start-apiextensions-informers": filled(_DEFINITIONS),
            "start-apiextensions-controllers": serves_definitions,
            "crd-informer-synced": filled(_DEFINITIONS),
            "start-system-namespaces-controller": of(self._namespaces),
            "peer-endpoint-reconciler-controller": published,
            "start-cluster-authentication-info-controller": self._done(_TRUST),
            "start-kube-apiserver-identity-lease-controller": of(self._renewed),
            "start-kube-apiserver-identity-lease-garbage-collector": of(self._expired),
            "storage-readiness": storage,
            "start-legacy-token-tracking-controller": self._done(_SYSTEM),
            "start-service-ip-repair-controllers": repaired,
            "rbac/bootstrap-roles": self._done(_ROLES),
            "scheduling/bootstrap-system-priority-classes": self._done(_SYSTEM),
            "priority-and-fairness-config-producer": of(self._levels),
            "bootstrap-controller": published,
            "start-kubernetes-service-cidr-controller": repaired,
            "aggregator-reload-proxy-client-cert": aggregates,
            "start-kube-aggregator-informers": filled(_API_SERVICES),
            "apiservice-status-local-available-controller": aggregates,
            "apiservice-status-remote-available-controller": aggregates,
            "apiservice-registration-controller": aggregates,
            "apiservice-discovery-controller": aggregates,
            "kube-apiserver-autoregistration": registered,
        }
        if not self._has_rbac:
            del hooks["rbac/bootstrap-roles"]
        checks = {f"poststarthook/{name}": check for name, check in hooks.items()}
        checks["autoregister-completion"] = self._done(_API_SERVICES_MADE)
        for name in ("apiservice-openapi-controller", "apiservice-openapiv3-controller"):
            checks[f"poststarthook/{name}"] = serves_definitions
        return checks

    def _supervised(self, name: str, run: Callable[[Worked], Awaitable[None]]) -> SupervisedPart:
        return SupervisedPart(name, run, self._clock)

    async def _repair_addresses(self, worked: Worked) -> None:
        await self._repair.run(self._addresses.addresses, worked)

    def _filled(self, kinds: Iterable[tuple[str, str, str]]) -> Check:
        caches = [self._collections.named(*kind).cache for kind in kinds]
        return lambda: "" if all(cache.is_ready for cache in caches) else NOT_FINISHED

    def _all_filled(self) -> str:
        return "" if self._collections.is_ready else NOT_FINISHED

    def _done(self, what: str) -> Check:
        return lambda: "" if what in self._made else NOT_FINISHED


def _at_work(run: Callable[[], Awaitable[None]]) -> Callable[[Worked], Awaitable[None]]:
    """For parts that are at work from their first step on."""

    async def running(worked: Worked) -> None:
        worked()
        await run()

    return running


def _joined(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
