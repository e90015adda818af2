"""The parts of an API server that a store needs: storage, watch caches and the way of a request
from its verb to the registry. They are the server's own (``server/parts``); what is left out is
what makes a cluster of a server: its objects, its certificates, its port.

    storage → watch caches → collections → dispatch ─▶ ``store`` or ``asgi``

What is served is the given kinds. Kubernetes' own have caches, which are empty, as parts of a
server look into them, but they are in no catalog, so that no request finds them.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, closing
from functools import cached_property
from pathlib import Path

from proreus.aio.clock import Clock
from proreus.aio.tasks import background
from proreus.api.json_types import Json, JsonObject
from proreus.embedded.handling import own_requests
from proreus.net.http1.server import HttpServer
from proreus.server.admission.options import PLUGINS, AdmissionOptions
from proreus.server.config import ServerConfig
from proreus.server.custom.conversion.conversions import Conversions
from proreus.server.custom.serving.kind import CustomKind, build
from proreus.server.http.dispatch import Dispatch
from proreus.server.http.health import Health, server_health
from proreus.server.http.stages.audit_id import audit_ids
from proreus.server.offload import open_offload
from proreus.server.opening import open_authorization
from proreus.server.parts import Parts
from proreus.server.registry.catalog import Catalog
from proreus.server.registry.collections import Collections
from proreus.server.registry.kinds import KnownKinds
from proreus.server.resource.conversion import conversion_among
from proreus.server.storage.interface import Storage

# Who may ask is decided where requests come in; namespaces are only names here.
_CONFIG = ServerConfig(
    authorization_mode=("AlwaysAllow",), admission=AdmissionOptions(disable=tuple(PLUGINS))
)


class Engine(Parts):
    """``dispatch`` answers requests once ``running`` has begun."""

    def __init__(
        self, definitions: Iterable[JsonObject], builtin: Iterable[str], clock: Clock
    ) -> None:
        """``definitions``: CustomResourceDefinitions; ``builtin``: plural names of Kubernetes' own
        kinds that are served too, as ``configmaps`` or ``deployments.apps``."""
        super().__init__(_CONFIG, clock)
        self._definitions = tuple(map(_accepted, definitions))
        self._kubernetes = self.catalog
        asked = set(builtin)
        found = [one for one in self._kubernetes if _full_name(one.plural, one.group) in asked]
        if unknown := asked - {_full_name(one.plural, one.group) for one in found}:
            raise ValueError(f"Kubernetes has no kinds {', '.join(sorted(unknown))}")
        self.catalog = Catalog(found)
        self.audit_ids = audit_ids()

    @cached_property
    def kinds(self) -> KnownKinds:
        return KnownKinds(self._kubernetes)

    @cached_property
    def conversions(self) -> Conversions:
        return Conversions(conversion_among(self._kubernetes))

    @cached_property
    def collections(self) -> Collections:
        made = Collections(self.stores, self.caches, self.kinds, self.conversions.convert)
        made.serve_all(self._kubernetes)
        return made

    @cached_property
    def health(self) -> Health:
        return server_health(self.collections, self.storage, self.shutdown, _no_checks, lambda: "")

    @cached_property
    def http(self) -> HttpServer:
        """Never bound: requests come by ``net.client.in_process``."""
        return HttpServer(own_requests(self), self.clock, turns=self.offload.turns)

    @cached_property
    def dispatch(self) -> Dispatch:
        return Dispatch(self.services, self.documents)

    @asynccontextmanager
    async def running(self, path: Path | None) -> AsyncIterator[None]:
        """On the SQLite file at ``path``; None: in memory. Raises StorageError."""
        self.auditor = None
        async with open_offload() as self.offload, _opened(path, self.clock) as self.storage:
            self.has_past = await self.storage.current_revision() > 1
            with closing(self.senders):
                async with open_authorization(
                    self.config, self.collections, self.metrics, self.clock, self.offload.queries
                ) as self.access:
                    self._serve()
                    async with background(
                        self.storage.run(), self.caches.run(), self.admission.run()
                    ):
                        await self.caches.wait_ready()
                        try:
                            yield
                        finally:
                            self.caches.close_watchers()

    def _serve(self) -> None:
        for definition in self._definitions:
            kind = build(definition, self.conversions.convert, 0, lane=self.offload.custom_objects)
            self._publish(kind)

    def _publish(self, kind: CustomKind) -> None:
        self.conversions.put(kind.kind, kind.schemas)
        for resource in kind.resources:
            self.kinds.add(resource.gvk, kind.nodes[resource.gvk])
            self.schemas.put(resource, kind.schemas[resource.version])
            self.collections.serve(resource)
            self.catalog.add(resource)


def _no_checks(
    serves_definitions: Callable[[], str], storage: Callable[[], str], *, of_readiness: bool
) -> dict[str, Callable[[], str]]:
    """What a server makes of itself at its start is not made here."""
    return {}


def _opened(path: Path | None, clock: Clock) -> AbstractAsyncContextManager[Storage]:
    if path is None:
        from proreus.server.storage.memory import MemoryStorage

        return MemoryStorage.open(clock)
    from proreus.server.storage.sqlite import SqliteStorage

    path.parent.mkdir(parents=True, exist_ok=True)
    return SqliteStorage.open(path, clock)


def _full_name(plural: str, group: str) -> str:
    return f"{plural}.{group}" if group else plural


def _accepted(definition: Json) -> JsonObject:
    """As a server writes it once it has found no other kind of these names."""
    names = definition["spec"]["names"]
    kind = names["kind"]
    accepted = {"singular": kind.lower(), "listKind": f"{kind}List", **names}
    versions = [version["name"] for version in definition["spec"]["versions"]]
    return {**definition, "status": {"acceptedNames": accepted, "storedVersions": versions}}
