"""The server, put together: every part is built here and runs in one place. Start reading here.

    storage → watch caches → collections (registry) → handlers ← pipeline ← HTTP

``async with ApiServer(config) as server:`` is ready when the body begins and gone when it ends.
There is no module-level state: several servers live in one process without knowing each other.
"""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack, closing
from pathlib import Path
from types import TracebackType

from prometheus_client import CollectorRegistry

from proreus.aio.clock import Clock, SystemClock
from proreus.aio.tasks import background
from proreus.api.group_version import GroupVersionKind
from proreus.net import tls
from proreus.net.http_server import HttpServer
from proreus.net.senders import Senders
from proreus.server.admission.standard import standard_admission
from proreus.server.authn.chain import Authentication
from proreus.server.authn.service_accounts import ServiceAccountTokens
from proreus.server.authn.tokens import StaticTokens, read_tokens_file
from proreus.server.authz.authorizer import Authorization
from proreus.server.authz.standing import allow_authenticated, allow_masters, allow_public
from proreus.server.bootstrap import make_system_objects
from proreus.server.config import ServerConfig
from proreus.server.credentials import (
    ADMIN,
    ADMIN_USER,
    AdminCredentials,
    admin_token,
    write_kubeconfig,
)
from proreus.server.custom.conversion import Conversions
from proreus.server.custom.openapi import PublishedSchemas
from proreus.server.custom.parts import CustomResources, with_definition_rules
from proreus.server.custom.workbench import open_workbenches
from proreus.server.discovery.aggregated import Aggregated
from proreus.server.discovery.legacy import Legacy
from proreus.server.http.body import ObjectDecoder
from proreus.server.http.deadlines import Deadlines
from proreus.server.http.dispatch import Dispatch
from proreus.server.http.documents import Documents
from proreus.server.http.handlers.watch import delivery
from proreus.server.http.health import Health
from proreus.server.http.kubelets import Kubelets
from proreus.server.http.metrics import RequestMetrics
from proreus.server.http.openapi import OpenApi
from proreus.server.http.openid import OpenId
from proreus.server.http.pipeline import Pipeline
from proreus.server.http.process_metrics import register_process_metrics
from proreus.server.http.representation import Representations
from proreus.server.http.services import Services
from proreus.server.opening import open_storage
from proreus.server.registry.builtin import builtin_resources
from proreus.server.registry.catalog import Catalog
from proreus.server.registry.collections import Collections
from proreus.server.registry.kinds import KnownKinds
from proreus.server.registry.user import MASTERS, User
from proreus.server.schema.rules import JsonObject
from proreus.server.storage.factory import StorageFactory
from proreus.server.watch_cache.caches import WatchCaches

_NAMES = ("localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc",
          "kubernetes.default.svc.cluster.local", "127.0.0.1", "::1")  # fmt: skip
# What watchers of a busy server may not have been told when it died; reading it takes 20 ms.
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
        self._caches: WatchCaches | None = None
        self._kubelets: Kubelets | None = None
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
    def credentials(self) -> AdminCredentials:
        return self._credentials

    async def __aenter__(self) -> ApiServer:
        async with AsyncExitStack() as starting:
            await self._start(starting)
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
        """No new work; watches and streams end at once, so that clients go elsewhere (§5.6)."""
        if self._pipeline is not None:
            self._pipeline.is_ending = True
        if self._caches is not None:
            self._caches.close_watchers()
        if self._kubelets is not None:
            self._kubelets.end_streams()

    async def _start(self, parts: AsyncExitStack) -> None:
        config = self.config
        storage = await parts.enter_async_context(open_storage(config, self.clock))
        # A new store has no past: what a server makes of itself is no history to be watched.
        is_new = await storage.current_revision() <= 1
        senders = parts.enter_context(closing(Senders()))
        caches = self._caches = WatchCaches(
            storage,
            self.clock,
            self.metrics,
            remembered=0 if is_new else _REMEMBERED,
            deliver=delivery(senders),
        )
        kinds = KnownKinds(self.catalog)
        stores = StorageFactory(storage)
        conversions, schemas = Conversions(_convert), PublishedSchemas()
        benches = parts.enter_context(open_workbenches())
        with_definition_rules(self.catalog, benches)
        collections = Collections(stores, caches, kinds, conversions.convert)
        collections.serve_all(self.catalog)
        self._credentials = self._make_credentials()
        deadlines = Deadlines(self.clock)
        services = self._services(collections, stores, kinds, conversions)
        self._kubelets = services.kubelets
        parts.push_async_callback(services.kubelets.close)
        pipeline = self._pipeline = self._make_pipeline(services, deadlines, schemas)
        custom = CustomResources(
            self.catalog, collections, kinds, conversions, self.clock, schemas=schemas,
            forget_views=services.representations.forget, benches=benches,
        )  # fmt: skip
        await make_system_objects(services)  # before the caches, which begin with them
        await parts.enter_async_context(background(storage.run(), caches.run(), deadlines.run()))
        await caches.wait_ready()
        await custom.controller.start()
        await parts.enter_async_context(background(custom.run()))
        self._http = HttpServer(
            pipeline.handle,
            self.clock,
            config.bind_address,
            config.port,
            tls.server_context(self._credentials.tls) if self._credentials.tls else None,
            config.shutdown_grace_s,
        )
        await parts.enter_async_context(self._http.run())
        if config.kubeconfig is not None:
            write_kubeconfig(config.kubeconfig, self.url, self._credentials)

    def _make_credentials(self) -> AdminCredentials:
        config = self.config
        if config.data_dir is None:
            return AdminCredentials(admin_token(None))
        config.data_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
        files = None
        if config.tls:
            hosts = [*_NAMES, *config.advertise]
            if config.bind_address not in ("0.0.0.0", "::"):
                hosts.append(config.bind_address)
            files = tls.ensure_files(
                config.data_dir / "tls",
                hosts,
                admin=ADMIN,
                groups=(MASTERS,),
                now=self.clock.now(),
            )
        return AdminCredentials(admin_token(config.data_dir), files)

    def _services(
        self,
        collections: Collections,
        stores: StorageFactory,
        kinds: KnownKinds,
        conversions: Conversions,
    ) -> Services:
        accounts = ServiceAccountTokens(
            collections.named("", "v1", "serviceaccounts"), self.clock, self._key_file()
        )
        users, files = self._users(), self._credentials.tls
        return Services(
            clock=self.clock,
            catalog=self.catalog,
            collections=collections,
            kinds=kinds,
            decoder=ObjectDecoder(kinds),
            representations=Representations(self.clock, conversions.convert),
            admission=standard_admission(collections, stores, self.clock),
            authentication=Authentication([StaticTokens(users).check, accounts.check], users),
            authorization=Authorization([allow_masters, allow_public, allow_authenticated]),
            service_accounts=accounts,
            kubelets=Kubelets(
                collections.named("", "v1", "nodes"),
                files.kubelet_client if files else None,
                self.clock,
            ),
            date=self._date,
        )

    def _users(self) -> dict[str, User]:
        """Who has a token from the start."""
        users = {**self.config.tokens, self._credentials.token: ADMIN_USER}
        if self.config.tokens_file is not None:
            users |= read_tokens_file(self.config.tokens_file)
        return users

    def _key_file(self) -> Path | None:
        folder = self.config.data_dir
        return folder / "service-accounts.key" if folder is not None else None

    def _make_pipeline(
        self, services: Services, deadlines: Deadlines, schemas: PublishedSchemas
    ) -> Pipeline:
        documents = Documents(
            catalog=self.catalog,
            health=self._health(services.collections),
            openapi=OpenApi(self.catalog, self.clock, schemas),
            openid=OpenId(services.service_accounts, self._address),
            metrics=self.metrics,
            address=self._address,
            legacy=Legacy(self.catalog),
            aggregated=Aggregated(self.catalog),
        )
        return Pipeline(
            clock=self.clock,
            authentication=services.authentication,
            authorization=services.authorization,
            metrics=RequestMetrics(self.metrics),
            dispatch=Dispatch(services, documents),
            deadlines=deadlines,
        )

    def _health(self, collections: Collections) -> Health:
        def fine() -> str:
            return ""

        def synced() -> str:
            return "" if collections.is_ready else "storage is (re)initializing"

        def shutdown() -> str:
            ending = self._pipeline is not None and self._pipeline.is_ending
            return "process is shutting down" if ending else ""

        # Whatever the store is, who asks about it calls it etcd.
        alive = {"ping": fine, "log": fine, "etcd": fine}
        return Health(
            {
                "healthz": alive,
                "livez": alive,
                "readyz": {**alive, "informer-sync": synced, "shutdown": shutdown},
            }
        )

    def _date(self) -> bytes:
        return self._http.date() if self._http else b""

    def _address(self) -> str:
        return self.url.partition("://")[2]

    def __repr__(self) -> str:
        where = self.url if self._http is not None else "not running"
        return f"<ApiServer {where}, {len(self.catalog)} resources>"


def _convert(obj: JsonObject, to: GroupVersionKind) -> JsonObject:
    from proreus.server.schema.convert import convert

    return convert(obj, to)
