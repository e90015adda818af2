"""Builds every part of the server, in the order in which they need each other. Start reading here.

    storage → watch caches → collections (registry) → handlers ← pipeline ← HTTP

``async with ApiServer(config) as server:`` is ready when the body begins and gone when it ends.
There is no module-level state: several servers live in one process without knowing each other.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Iterator
from contextlib import AsyncExitStack, closing, contextmanager
from pathlib import Path
from types import TracebackType

from prometheus_client import CollectorRegistry

from proreus.aio.clock import Clock, SystemClock
from proreus.aio.tasks import background
from proreus.aio.turns import Turns
from proreus.net.http1.messages import Handler
from proreus.net.http1.mount import mounted
from proreus.net.http1.server import HttpServer
from proreus.net.tls.contexts import server_context
from proreus.net.tls.senders import Senders
from proreus.server.admission.building import AdmissionInputs, BuiltAdmission
from proreus.server.aggregation.building import Aggregation, AggregationInputs
from proreus.server.audit.auditor import Auditor
from proreus.server.authn.building import BuiltAuthentication
from proreus.server.authz.modes import AccessControl
from proreus.server.config import ServerConfig
from proreus.server.credentials import AdminCredentials, token_file, write_kubeconfig
from proreus.server.custom.conversion.conversions import Conversions
from proreus.server.custom.parts import CustomResources, with_definition_rules
from proreus.server.custom.serving.openapi import PublishedSchemas
from proreus.server.discovery.aggregated import AggregatedDiscovery
from proreus.server.discovery.unaggregated import UnaggregatedDiscovery
from proreus.server.fairness.fairness import Fairness
from proreus.server.fairness.metrics import FairnessMetrics
from proreus.server.http.body import ObjectDecoder
from proreus.server.http.dispatch import Dispatch
from proreus.server.http.documents import Documents
from proreus.server.http.handlers.watch import delivery
from proreus.server.http.health import Health, server_health
from proreus.server.http.kubelets import Kubelets
from proreus.server.http.metrics import RequestMetrics
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
from proreus.server.kinds import builtin_resources
from proreus.server.offload import Offload, open_offload
from proreus.server.opening import (
    make_admission,
    make_authentication,
    make_credentials,
    open_audit,
    open_authorization,
    open_storage,
)
from proreus.server.registry.catalog import Catalog
from proreus.server.registry.collections import Collections
from proreus.server.registry.kinds import KnownKinds
from proreus.server.resource.conversion import conversion_among
from proreus.server.start_parts import Reachability, StartParts
from proreus.server.storage.interface import Storage
from proreus.server.storage.resource_stores import ResourceStores
from proreus.server.watch_cache.caches import WatchCaches

# What watchers of a busy server may not have received when it died; reading it takes 20 ms.
_REMEMBERED = 1000


class ApiServer:
    """``url``, ``token`` and ``kubeconfig`` say how to reach it once it is ready."""

    def __init__(self, config: ServerConfig | None = None, clock: Clock | None = None) -> None:
        self.config = config or ServerConfig()
        self.clock: Clock = clock or SystemClock()
        self.metrics = CollectorRegistry()
        register_process_metrics(self.metrics)
        self.catalog = Catalog(builtin_resources(event_ttl_s=self.config.event_ttl_s))
        self._running = AsyncExitStack()
        self._http: HttpServer | None = None
        self._pipeline: Pipeline | None = None
        self._limits = Limits(self.clock)
        self._fairness = Fairness(self.clock)
        FairnessMetrics(self.metrics, self._fairness)
        self._shutdown = Shutdown()
        self._caches: WatchCaches | None = None
        self._kubelets: Kubelets | None = None
        self._aggregation: Aggregation | None = None
        self._own_address = OwnAddress(
            self._port, (*self.config.advertise, self.config.advertise_address)
        )
        self._credentials = AdminCredentials("")

    @property
    def url(self) -> str:
        assert self._http is not None, "the server is not running"
        host = self.config.bind_address
        if host in ("0.0.0.0", "::"):
            host = "127.0.0.1"
        scheme = "https" if self.config.tls else "http"
        return f"{scheme}://{f'[{host}]' if ':' in host else host}:{self._http.port}"

    @property
    def token(self) -> str:
        """The administrator's."""
        return self._credentials.token

    @property
    def token_file(self) -> Path | None:
        """Where the administrator's token is kept; None: in memory."""
        return token_file(self.config.data_dir)

    @property
    def credentials(self) -> AdminCredentials:
        return self._credentials

    @contextmanager
    def mounted(self, prefix: str, handler: Handler) -> Iterator[None]:
        """While it lasts, requests for ``prefix`` and what is below it go to ``handler`` and pass
        none of the server's stages: it decides who may ask. Without a mount no request pays for
        one."""
        http = self._http
        assert http is not None, "the server is not running"
        others = http.handler
        http.handler = mounted(prefix, handler, others)
        try:
            yield
        finally:
            http.handler = others

    async def __aenter__(self) -> ApiServer:
        async with AsyncExitStack() as starting:
            try:
                await self._start(starting)
            except Exception:
                await starting.aclose()  # as in ``__aexit__``
                raise
            self._running = starting.pop_all()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.begin_shutdown()
        if isinstance(error, asyncio.CancelledError):
            await self._running.__aexit__(kind, error, trace)
        else:
            # The body's own failure stays what it is; given to the task groups inside, it would
            # come out wrapped.
            await self._running.aclose()

    def begin_shutdown(self) -> None:
        """No new work; watches and streams end at once, so that clients leave (server.md §5.6)."""
        self._shutdown.has_begun = True
        if self._caches is not None:
            self._caches.close_watchers()
        if self._kubelets is not None:
            self._kubelets.end_streams()
        if self._aggregation is not None:
            self._aggregation.remotes.end_streams()

    async def _start(self, parts: AsyncExitStack) -> None:
        config = self.config
        offload = await parts.enter_async_context(open_offload())
        auditor = await parts.enter_async_context(
            open_audit(config, self.metrics, self.clock, offload)
        )
        storage, caches = await self._open_caches(parts, offload)
        kinds = KnownKinds(self.catalog)
        stores = ResourceStores(storage)
        conversions, schemas = Conversions(conversion_among(self.catalog)), PublishedSchemas()
        with_definition_rules(self.catalog, offload.definitions)
        collections = Collections(stores, caches, kinds, conversions.convert)
        collections.serve_all(self.catalog)
        self._credentials = make_credentials(config, self.clock.now())
        deadlines = Deadlines(self.clock)
        access = await parts.enter_async_context(
            open_authorization(config, collections, self.metrics, self.clock, offload.queries)
        )
        built = make_authentication(
            config, self._credentials, collections, offload, self.metrics, self.clock
        )
        admission = self._admission(collections, kinds, conversions, offload, access)
        aggregation = self._aggregation = self._make_aggregation(collections, offload)
        services = self._services(
            collections, kinds, conversions, offload, built, access, admission, aggregation
        )
        self._kubelets = services.kubelets
        parts.push_async_callback(services.kubelets.close)
        custom = CustomResources(
            self.catalog, collections, kinds, conversions, self.clock, schemas=schemas,
            forget_views=services.representations.forget, offload=offload,
        )  # fmt: skip
        own = StartParts(
            collections, stores, self.clock, Reachability.of(config, self._port),
            self._fairness, aggregation, built.trust, self.metrics,
            has_rbac=access.has_rbac,
        )  # fmt: skip
        health = server_health(collections, storage, self._shutdown, own.checks, custom.fault)
        pipeline = self._pipeline = self._make_pipeline(
            services, deadlines, schemas, health, auditor
        )
        http = self._bind(parts, pipeline, built, offload.turns)
        await own.make_objects()
        await parts.enter_async_context(
            background(storage.run(), caches.run(), deadlines.run(), admission.run())
        )
        await caches.wait_ready()
        await parts.enter_async_context(built.running(offload))
        await custom.start()
        await parts.enter_async_context(background(custom.run(), own.run()))
        await self._listen(parts, http)
        parts.push_async_callback(own.withdraw)

    async def _open_caches(
        self, parts: AsyncExitStack, offload: Offload
    ) -> tuple[Storage, WatchCaches]:
        storage = await parts.enter_async_context(
            open_storage(self.config, self.catalog, self.metrics, self.clock, offload.configuration)
        )
        # A new store has no past: what a server makes of itself is no history to be watched.
        is_new = await storage.current_revision() <= 1
        senders = parts.enter_context(closing(Senders()))
        self._caches = WatchCaches(
            storage,
            self.clock,
            self.metrics,
            remembered=_REMEMBERED,
            begins_now=is_new,
            deliver=delivery(senders),
            turns=offload.turns,
        )
        return storage, self._caches

    def _bind(
        self, parts: AsyncExitStack, pipeline: Pipeline, built: BuiltAuthentication, turns: Turns
    ) -> HttpServer:
        """Before the objects that have the port in them."""
        config = self.config
        http = self._http = HttpServer(
            pipeline.handle,
            self.clock,
            config.bind_address,
            config.port,
            self._tls_context(built),
            config.shutdown_grace_s,
            turns,
        )
        http.bind()
        parts.callback(http.unbind)
        return http

    async def _listen(self, parts: AsyncExitStack, http: HttpServer) -> None:
        config, known = self.config, self._credentials
        await parts.enter_async_context(http.run())
        if config.kubeconfig is not None:
            write_kubeconfig(config.kubeconfig, self.url, known.authority, known.login())

    def _services(
        self,
        collections: Collections,
        kinds: KnownKinds,
        conversions: Conversions,
        offload: Offload,
        built: BuiltAuthentication,
        access: AccessControl,
        admission: BuiltAdmission,
        aggregation: Aggregation,
    ) -> Services:
        files = self._credentials.tls
        return Services(
            clock=self.clock,
            catalog=self.catalog,
            collections=collections,
            kinds=kinds,
            decoder=ObjectDecoder(kinds, offload.bodies),
            representations=Representations(self.clock, conversions.convert),
            admission=admission.admission,
            authentication=built.authentication,
            authorization=access.authorization,
            service_accounts=built.service_accounts,
            kubelets=Kubelets(
                collections.named("", "v1", "nodes"),
                files.kubelet_client if files else None,
                self.clock,
                self._own_address.includes,
            ),
            remotes=aggregation.remotes,
            offload=offload,
            rendering=Rendering(offload, self.clock),
        )

    def _admission(
        self,
        collections: Collections,
        kinds: KnownKinds,
        conversions: Conversions,
        offload: Offload,
        access: AccessControl,
    ) -> BuiltAdmission:
        inputs = AdmissionInputs(
            catalog=self.catalog,
            collections=collections,
            kinds=kinds,
            convert=conversions.convert,
            access=access,
            offload=offload,
            registry=self.metrics,
            clock=self.clock,
        )
        return make_admission(self.config, inputs)

    def _make_aggregation(self, collections: Collections, offload: Offload) -> Aggregation:
        files = self._credentials.tls
        identity = self.config.proxy_client or (files.front_proxy_client if files else None)
        return Aggregation(
            AggregationInputs(
                catalog=self.catalog,
                collections=collections,
                registry=self.metrics,
                clock=self.clock,
                lane=offload.answers,
                identity=identity,
                is_own_address=self._own_address.includes,
            )
        )

    def _tls_context(self, built: BuiltAuthentication) -> ssl.SSLContext | None:
        tls = self._credentials.tls
        if tls is None:
            return None
        return server_context(tls.server, built.authorities, resumes=built.may_resume)

    def _make_pipeline(
        self,
        services: Services,
        deadlines: Deadlines,
        schemas: PublishedSchemas,
        health: Health,
        auditor: Auditor | None,
    ) -> Pipeline:
        def address() -> str:
            return self.url.partition("://")[2]

        documents = Documents(
            catalog=self.catalog,
            health=health,
            openapi=OpenApi(
                self.catalog, self.clock, schemas, services.offload.answers, services.remotes
            ),
            openid=OpenId(services.service_accounts, address),
            metrics=self.metrics,
            address=address,
            legacy=UnaggregatedDiscovery(self.catalog, services.remotes.table),
            aggregated=AggregatedDiscovery(self.catalog, services.remotes.table),
            rendering=services.rendering,
            fairness=self._fairness,
        )
        return Pipeline(
            clock=self.clock,
            auditor=auditor,
            authentication=services.authentication,
            authorization=services.authorization,
            metrics=RequestMetrics(self.metrics, self._limits, self.clock),
            deadlines=deadlines,
            fairness=self._fairness,
            limits=self._limits,
            count_objects=services.collections.count,
            shutdown=self._shutdown,
            dispatch=Dispatch(services, documents),
        )

    def _port(self) -> int:
        return self._http.port if self._http else 0

    def __repr__(self) -> str:
        where = self.url if self._http is not None else "not running"
        return f"<ApiServer {where}, {len(self.catalog)} resources>"
