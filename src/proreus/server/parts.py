"""Every part of one server, and what each is made of.

    storage → watch caches → collections (registry) → services → pipeline → HTTP

A part is made when it is first asked for, once, of the parts that its maker names; so the makers
are the graph of what needs what. Those without a maker are opened by ``app``, which also says in
which order parts start and end. There is no module-level state: several servers live in one process
without knowing each other.
"""

from __future__ import annotations

import ssl
from functools import cached_property

from proreus.aio.clock import Clock
from proreus.net.addresses import local_address
from proreus.net.http1.server import HttpServer
from proreus.net.http2.serving import http2
from proreus.net.tls.senders import Senders
from proreus.server.admission.building import AdmissionInputs, BuiltAdmission
from proreus.server.aggregation.building import Aggregation, AggregationInputs
from proreus.server.audit.auditor import Auditor
from proreus.server.authn.building import BuiltAuthentication
from proreus.server.authz.modes import AccessControl
from proreus.server.config import ServerConfig
from proreus.server.config_files.followed_tls import FollowedTls
from proreus.server.credentials import AdminCredentials
from proreus.server.custom.conversion.conversions import Conversions
from proreus.server.custom.parts import CustomResources, with_definition_rules
from proreus.server.custom.serving.openapi import PublishedSchemas
from proreus.server.discovery.aggregated import AggregatedDiscovery
from proreus.server.discovery.unaggregated import UnaggregatedDiscovery
from proreus.server.fairness.fairness import Fairness
from proreus.server.fairness.metrics import FairnessMetrics
from proreus.server.http.body import ObjectDecoder
from proreus.server.http.client_reports import ClientReports
from proreus.server.http.debug.pages import DebugPages
from proreus.server.http.dispatch import Dispatch
from proreus.server.http.documents import Documents
from proreus.server.http.handlers.watch import delivery
from proreus.server.http.health import Health, server_health
from proreus.server.http.instruments import NO_INSTRUMENTS, Instruments
from proreus.server.http.kubelets import Kubelets
from proreus.server.http.metrics import RequestMetrics
from proreus.server.http.open_watches import OpenWatches
from proreus.server.http.openapi import OpenApi
from proreus.server.http.openid import OpenId
from proreus.server.http.own_address import OwnAddress
from proreus.server.http.pipeline import Pipeline
from proreus.server.http.process_metrics import register_process_metrics
from proreus.server.http.rendering import Rendering
from proreus.server.http.representation import Representations
from proreus.server.http.seats import Limits
from proreus.server.http.services import Services
from proreus.server.http.stages.deadline import Deadlines
from proreus.server.http.stages.shutdown import Shutdown
from proreus.server.http.watch_metrics import WatchMetrics
from proreus.server.http.worker_metrics import WorkerMetrics
from proreus.server.key_queue import KeyQueues
from proreus.server.kinds import builtin_resources
from proreus.server.offload import Offload
from proreus.server.opening import make_admission, make_authentication, make_credentials
from proreus.server.prometheus import CollectorRegistry
from proreus.server.registry.catalog import Catalog
from proreus.server.registry.collections import Collections
from proreus.server.registry.kinds import KnownKinds
from proreus.server.resource.conversion import conversion_among
from proreus.server.serving_tls import ServingFiles, ServingTls
from proreus.server.start_parts import Reachability, StartParts
from proreus.server.storage.interface import Storage
from proreus.server.storage.measured import StorageRequests
from proreus.server.storage.resource_stores import ResourceStores
from proreus.server.watch_cache.caches import WatchCaches

# What watchers of a busy server may not have received when it died; reading it takes 20 ms.
_REMEMBERED = 1000


class Parts:
    """See the module."""

    offload: Offload
    auditor: Auditor | None
    storage: Storage
    has_past: bool  # whether the storage held anything when it was opened
    access: AccessControl

    def __init__(
        self, config: ServerConfig, clock: Clock, instruments: Instruments = NO_INSTRUMENTS
    ) -> None:
        self.config = config
        self.clock = clock
        self.instruments = instruments
        self.metrics = CollectorRegistry()
        register_process_metrics(self.metrics)
        self.queues = KeyQueues(self.metrics, clock)
        self.catalog = Catalog(builtin_resources(event_ttl_s=config.event_ttl_s))
        self.limits = Limits(clock)
        self.fairness = Fairness(clock)
        FairnessMetrics(self.metrics, self.fairness)
        self.shutdown = Shutdown()
        self.deadlines = Deadlines(clock)
        self.schemas = PublishedSchemas()

    # ---- What is stored, and what is known of it

    @cached_property
    def storage_requests(self) -> StorageRequests:
        places = {resource.store_name: resource.group_resource for resource in self.catalog}
        return StorageRequests(self.metrics, places, self.clock.monotonic)

    @cached_property
    def senders(self) -> Senders:
        return Senders()

    @cached_property
    def caches(self) -> WatchCaches:
        return WatchCaches(
            self.storage,
            self.clock,
            self.metrics,
            remembered=_REMEMBERED,
            # What a server makes of itself on a new store is no history to be watched.
            begins_now=not self.has_past,
            recalls=self.has_past,
            deliver=delivery(self.senders),
            turns=self.offload.turns,
        )

    @cached_property
    def stores(self) -> ResourceStores:
        return ResourceStores(self.storage)

    @cached_property
    def kinds(self) -> KnownKinds:
        return KnownKinds(self.catalog)

    @cached_property
    def conversions(self) -> Conversions:
        return Conversions(conversion_among(self.catalog))

    @cached_property
    def collections(self) -> Collections:
        with_definition_rules(self.catalog, self.offload.definitions)
        made = Collections(self.stores, self.caches, self.kinds, self.conversions.convert)
        made.serve_all(self.catalog)
        return made

    # ---- Who asks, and what must hold before a write

    @cached_property
    def credentials(self) -> AdminCredentials:
        return make_credentials(self.config, self.clock.now())

    @cached_property
    def authentication(self) -> BuiltAuthentication:
        return make_authentication(
            self.config,
            self.credentials,
            self.collections,
            self.offload,
            self.metrics,
            self.clock,
        )

    @cached_property
    def admission(self) -> BuiltAdmission:
        inputs = AdmissionInputs(
            catalog=self.catalog,
            collections=self.collections,
            kinds=self.kinds,
            convert=self.conversions.convert,
            access=self.access,
            offload=self.offload,
            registry=self.metrics,
            queues=self.queues,
            clock=self.clock,
        )
        return make_admission(self.config, inputs)

    # ---- Other servers

    @cached_property
    def own_address(self) -> OwnAddress:
        return OwnAddress(
            lambda: self.http.port, (*self.config.advertise, self.config.advertise_address)
        )

    @cached_property
    def kubelets(self) -> Kubelets:
        files = self.credentials.tls
        return Kubelets(
            self.collections.named("", "v1", "nodes"),
            files.kubelet_client if files else None,
            self.clock,
            self.own_address.includes,
        )

    @cached_property
    def aggregation(self) -> Aggregation:
        files = self.credentials.tls
        identity = self.config.proxy_client or (files.front_proxy_client if files else None)
        return Aggregation(
            AggregationInputs(
                catalog=self.catalog,
                collections=self.collections,
                registry=self.metrics,
                queues=self.queues,
                clock=self.clock,
                lane=self.offload.answers,
                identity=identity,
                is_own_address=self.own_address.includes,
            )
        )

    # ---- What the server keeps by itself

    @cached_property
    def custom(self) -> CustomResources:
        return CustomResources(
            self.catalog,
            self.collections,
            self.conversions,
            self.clock,
            schemas=self.schemas,
            forget_views=self.representations.forget,
            offload=self.offload,
            queues=self.queues,
        )

    @cached_property
    def start_parts(self) -> StartParts:
        return StartParts(
            self.collections,
            self.stores,
            self.clock,
            Reachability.of(self.config, lambda: self.http.port),
            self.fairness,
            self.aggregation,
            self.authentication.trust,
            self.metrics,
            has_rbac=self.access.has_rbac,
        )

    # ---- How requests are answered

    @cached_property
    def representations(self) -> Representations:
        return Representations(self.clock, self.conversions.convert)

    @cached_property
    def services(self) -> Services:
        watches, reports = OpenWatches(), ClientReports()
        self.metrics.register(WatchMetrics(watches, self.collections, self.storage, reports))
        return Services(
            clock=self.clock,
            catalog=self.catalog,
            collections=self.collections,
            kinds=self.kinds,
            decoder=ObjectDecoder(self.kinds, self.offload.bodies),
            representations=self.representations,
            admission=self.admission.admission,
            authentication=self.authentication.authentication,
            authorization=self.access.authorization,
            service_accounts=self.authentication.service_accounts,
            kubelets=self.kubelets,
            remotes=self.aggregation.remotes,
            offload=self.offload,
            open_watches=watches,
            client_reports=reports,
            rendering=Rendering(self.offload, self.clock),
            wrap_sink=self.instruments.wrap_sink,
        )

    @cached_property
    def health(self) -> Health:
        return server_health(
            self.collections,
            self.storage,
            self.shutdown,
            self.start_parts.checks,
            self.custom.fault,
        )

    @cached_property
    def documents(self) -> Documents:
        remotes = self.aggregation.remotes
        return Documents(
            catalog=self.catalog,
            health=self.health,
            openapi=OpenApi(self.catalog, self.clock, self.schemas, self.offload.answers, remotes),
            openid=OpenId(self.authentication.service_accounts, self.address),
            metrics=self.metrics,
            address=self.address,
            legacy=UnaggregatedDiscovery(self.catalog, remotes.table),
            aggregated=AggregatedDiscovery(self.catalog, remotes.table),
            rendering=self.services.rendering,
            fairness=self.fairness,
            debug=DebugPages(self.services),
            workers=self.worker_metrics,
        )

    @cached_property
    def worker_metrics(self) -> WorkerMetrics | None:
        own = self.config.worker
        if own is None:
            return None
        return WorkerMetrics(
            own, self.metrics, self.services.rendering, self.offload.answers, self.clock
        )

    @cached_property
    def pipeline(self) -> Pipeline:
        return Pipeline(
            clock=self.clock,
            auditor=self.auditor,
            authentication=self.services.authentication,
            authorization=self.services.authorization,
            metrics=RequestMetrics(self.metrics, self.limits, self.clock),
            deadlines=self.deadlines,
            fairness=self.fairness,
            limits=self.limits,
            count_objects=self.collections.count,
            shutdown=self.shutdown,
            dispatch=Dispatch(self.services, self.documents),
            around=self.instruments.around,
            behind=self.instruments.behind,
        )

    @cached_property
    def http(self) -> HttpServer:
        config, streams = self.config, self.config.http2_streams
        return HttpServer(
            self.pipeline.handle,
            self.clock,
            config.bind_address,
            config.port,
            self.serving_tls.first_context() if self.serving_tls is not None else None,
            config.shutdown_grace_s,
            self.offload.turns,
            shares_port=config.worker is not None,
            http2=http2(streams, config.goaway_chance) if streams else None,
        )

    @cached_property
    def serving_tls(self) -> ServingTls | None:
        """None: plain HTTP."""
        files = self.credentials.tls
        return ServingTls(self.config, files, self.authentication) if files is not None else None

    @cached_property
    def followed_tls(self) -> FollowedTls[ServingFiles] | None:
        serving = self.serving_tls
        if serving is None:
            return None

        def use(found: ServingFiles, tls: ssl.SSLContext) -> None:
            serving.use(found)
            self.http.use_tls(tls)

        return FollowedTls(serving.read, serving.context, use, self.clock)

    def address(self) -> str:
        """Where clients on this machine reach the server, as ``host:port``."""
        return local_address(self.config.bind_address, self.http.port)
