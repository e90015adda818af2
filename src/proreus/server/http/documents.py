"""Answers that are no resources: discovery, OpenAPI, version, health, metrics, the index.

The documents themselves come from ``server/discovery``; here they get their headers. Kubernetes
answers some of these to any method and some to GET alone, and so does this (server.md §12).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from proreus.api import go_text
from proreus.api.group_version import GroupVersion
from proreus.api.status import MethodNotAllowed, NotFound, UnsupportedMediaType
from proreus.api.wire import json
from proreus.lazy_dataclass import dataclass
from proreus.net.http1.messages import Answer, Response
from proreus.server.discovery.aggregated import AggregatedDiscovery
from proreus.server.discovery.document import Document
from proreus.server.discovery.unaggregated import UnaggregatedDiscovery
from proreus.server.discovery.version import version_document
from proreus.server.fairness.fairness import Fairness
from proreus.server.http.debug.pages import DebugPages
from proreus.server.http.exchange import Exchange
from proreus.server.http.flow_control_pages import FOLDER, flow_control_page
from proreus.server.http.health import Health
from proreus.server.http.metrics_text import metrics_text
from proreus.server.http.negotiation import (
    AS_IT_IS,
    SERVED,
    Choice,
    Media,
    aggregated_media,
    check_routed,
    media_type,
    negotiate,
)
from proreus.server.http.openapi import OpenApi
from proreus.server.http.openid import OPENID_PATHS, OpenId
from proreus.server.http.rendering import Rendering
from proreus.server.http.representation import is_pretty
from proreus.server.http.worker_metrics import WorkerMetrics
from proreus.server.prometheus import CollectorRegistry
from proreus.server.registry.catalog import Catalog

_AGGREGATED = ";g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
_PUBLIC = ("Cache-Control", "public")
# Its group is routed as resources are; the other groups are pages the aggregator writes.
_AGGREGATORS_OWN = "apiregistration.k8s.io"


@dataclass(slots=True)
class Documents:
    """``address`` is what clients reach us by, as ``host:port``."""

    catalog: Catalog
    health: Health
    openapi: OpenApi
    openid: OpenId
    metrics: CollectorRegistry
    address: Callable[[], str]
    legacy: UnaggregatedDiscovery
    aggregated: AggregatedDiscovery
    rendering: Rendering
    fairness: Fairness
    debug: DebugPages
    workers: WorkerMetrics | None = None

    async def answer(self, exchange: Exchange, parts: tuple[str, ...]) -> Answer:
        """Raises NotFound and MethodNotAllowed; plain 404 for what is not the API's."""
        match parts:
            case ("",):
                return self._index(exchange) if exchange.path == "/" else _page_not_found(exchange)
            case ("index.html",) if exchange.path == "/index.html":
                return self._index(exchange)
            case ("api",) | ("apis",) if exchange.path.count("/") <= 2:
                return await self._roots(exchange, parts[0])
            case ("api", version):
                return await self._resources(exchange, GroupVersion("", version))
            case ("apis", group) if group:
                return await self._group(exchange, group)
            case ("apis", group, version) if group:
                return await self._resources(exchange, GroupVersion(group, version))
            case ("api", _, "watch" | "proxy") | ("apis", _, _, "watch" | "proxy"):
                return _of_what(exchange)
            case ("api", *_):
                raise NotFound.path()
            case ("version", *below):
                return _version(exchange, is_known=not below)
            case _:
                return await self._page(exchange, parts) or _page_not_found(exchange)

    async def _page(self, exchange: Exchange, parts: tuple[str, ...]) -> Answer | None:
        """Outside the API a path is taken to the letter: a slash at its end names another page."""
        if parts[0] == "openapi":
            return await self.openapi.answer(exchange)
        if parts[0] in ("openid", ".well-known"):
            return await self.openid.answer(exchange)
        if exchange.path.endswith("/"):
            return None
        if parts == ("metrics",) and self.workers is not None:
            return _metrics(exchange, await self.workers.text())
        if parts == ("metrics",):
            body = await self.rendering.joined(lambda _: metrics_text(self.metrics))
            return _metrics(exchange, body)
        if parts[:2] == FOLDER and len(parts) == 3:
            return flow_control_page(self.fairness, exchange, parts[2])
        if parts[0] == "debug":
            return await self.debug.answer(exchange, parts)
        if parts == ("metrics", "slis"):
            return _metrics(exchange, self.health.metrics())
        return self.health.answer(exchange, parts)

    async def _roots(self, exchange: Exchange, root: str) -> Answer:
        is_core = root == "api"
        if is_core:
            _get_only(exchange)
            _check_content(exchange)
        accept = exchange.headers.get("Accept", "")
        media = aggregated_media(accept)
        if media is not None and exchange.path != "/apis/":
            found = self.aggregated.core() if is_core else self.aggregated.groups()
            return await self._aggregated(exchange, found, media)
        if is_core:
            check_routed(accept)
            return await self._render(exchange, self.legacy.api_versions(self.address()))
        return await self._render(exchange, self.legacy.groups())

    async def _group(self, exchange: Exchange, name: str) -> Answer:
        if name == _AGGREGATORS_OWN:
            _check_route(exchange)
        found = self.legacy.group(name)
        return _page_not_found(exchange) if found is None else await self._render(exchange, found)

    async def _resources(self, exchange: Exchange, group_version: GroupVersion) -> Answer:
        found = self.legacy.resources(group_version)
        is_routed = self.catalog.has_builtin_group(group_version.group)
        if found is None:
            if not is_routed:
                return _page_not_found(exchange)
            raise NotFound.path()
        if is_routed:  # those of definitions answer every method, as groups do
            _check_route(exchange)
        return await self._render(exchange, found)

    async def _render(self, exchange: Exchange, document: Document) -> Answer:
        choice = negotiate(exchange.headers.get("Accept", ""), AS_IT_IS)
        pretty = choice.pretty or is_pretty(exchange)
        body = await self.rendering.document(
            Choice(choice.media, pretty=pretty), document.body + b"\n"
        )
        content = ("Content-Type", choice.media.value)
        return Response(200, exchange.head(content=content), body)

    async def _aggregated(self, exchange: Exchange, document: Document, media: Media) -> Answer:
        vary = ("Vary", "Accept")
        tag = ("ETag", document.etag)
        content = ("Content-Type", f"{media.value}{_AGGREGATED}")
        if exchange.headers.get("If-None-Match") == document.etag:
            head = exchange.head(vary, tag, content=content, cache=_PUBLIC)
            return Response(304, tuple(h for h in head if h[0] != "Content-Type"))
        body = await self.rendering.document(Choice(media), document.body + b"\n")
        return Response(200, exchange.head(vary, tag, content=content, cache=_PUBLIC), body)

    def _index(self, exchange: Exchange) -> Answer:
        body = json.encode_pretty({"paths": sorted(set(self._paths()))})
        return exchange.json(200, body)

    def _paths(self) -> Iterator[str]:
        yield from ("/api", "/api/v1", "/apis", "/apis/", "/metrics", "/metrics/slis")
        yield from ("/openapi/v2", "/openapi/v3", "/openapi/v3/", "/version", *OPENID_PATHS)
        for resource in self.catalog:
            if resource.group:
                yield from (f"/apis/{resource.group}", resource.group_version.path)
        for where in self.openapi.remotes.table.remote:
            yield from (f"/apis/{where.group}", where.path)
        for name, checks in self.health.checks.items():
            yield f"/{name}"
            for check in checks:
                yield f"/{name}/{check}"


def _metrics(exchange: Exchange, body: bytes) -> Answer:
    content = ("Content-Type", "text/plain; version=0.0.4; charset=utf-8; escaping=underscores")
    return Response(200, exchange.head(content=content), body)


def _version(exchange: Exchange, *, is_known: bool) -> Answer:
    if not is_known:
        raise NotFound.path()
    _get_only(exchange)
    _check_content(exchange, (Media.JSON,))
    check_routed(exchange.headers.get("Accept", ""), offered=(Media.JSON,))
    return exchange.json(200, version_document())


def _of_what(exchange: Exchange) -> Answer:
    """A verb without a resource; Kubernetes fails before it knows who asks."""
    path, query = exchange.request.raw_path_only, exchange.request.raw_query
    asked = f"{path}?{query}" if query else path
    text = (
        f"Internal Server Error: {go_text.quoted(asked)}: failed to create RequestInfo: "
        f"unable to determine kind and namespace from url, {asked}\n"
    )
    for sign, rendered in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;")):
        text = text.replace(sign, rendered)
    return exchange.text(500, text)


def _page_not_found(exchange: Exchange) -> Answer:
    return exchange.text(404, "404 page not found\n")


def _check_route(exchange: Exchange) -> None:
    """What the router asks before it hands a request to a document."""
    _get_only(exchange)
    _check_content(exchange)
    check_routed(exchange.headers.get("Accept", ""))


def _get_only(exchange: Exchange) -> None:
    if exchange.method != "GET":
        raise MethodNotAllowed.default()


def _check_content(exchange: Exchange, consumed: tuple[Media, ...] = SERVED) -> None:
    """These routes say what they consume, although a GET has nothing to consume."""
    kind = media_type(exchange.headers.get("Content-Type", ""))
    if exchange.method == "GET" and kind and kind not in consumed:
        raise UnsupportedMediaType("415: Unsupported Media Type", details={})
