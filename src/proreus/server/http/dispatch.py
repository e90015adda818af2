"""From an authorized request to its handler: by verb, subresource, or what its kind declares.

All that the server answers is chosen in ``Dispatch.__call__``: documents, resources, what another
API server serves (``server/aggregation``), or nothing.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import NamedTuple

from proreus.api.status import MethodNotAllowed, NotAcceptable
from proreus.api.wire.path import ApiPath, Path
from proreus.net.http1.messages import Answer, Response
from proreus.server.aggregation.remote import Remote
from proreus.server.http.documents import Documents
from proreus.server.http.exchange import Exchange
from proreus.server.http.handlers import event_stream, subresources
from proreus.server.http.handlers.aggregated import proxy_request
from proreus.server.http.handlers.answers import compressed, is_large
from proreus.server.http.handlers.component_statuses import get_status, list_statuses
from proreus.server.http.handlers.create import create
from proreus.server.http.handlers.delete import delete, delete_collection
from proreus.server.http.handlers.get import get
from proreus.server.http.handlers.list import list_or_watch
from proreus.server.http.handlers.patch import patch
from proreus.server.http.handlers.pod_logs import get_log
from proreus.server.http.handlers.pod_streams import connect_command, connect_ports
from proreus.server.http.handlers.proxy import proxy
from proreus.server.http.handlers.reviews import create_review
from proreus.server.http.handlers.tokens import create_token
from proreus.server.http.handlers.update import update
from proreus.server.http.negotiation import PLAINLY_JSON, check_routed, patch_type
from proreus.server.http.request_info import RequestInfo
from proreus.server.http.router import PageNotFound, ResourceRoute, Router
from proreus.server.http.services import Services
from proreus.server.resource import Unstored

VerbHandler = Callable[[Services, Exchange, ResourceRoute], Awaitable[Answer]]

_VERBS: Mapping[str, VerbHandler] = {
    "get": get,
    "list": list_or_watch,
    "create": create,
    "update": update,
    "patch": patch,
    "delete": delete,
    "deletecollection": delete_collection,
}
# Parts of an object with its own kind are written like the object, by another strategy.
_SAME_KIND = frozenset({"status", "finalize", "approval", "ephemeralcontainers", "resize"})
_SUBRESOURCES: Mapping[str, Mapping[str, VerbHandler]] = {
    "scale": {
        "get": subresources.get_scale,
        "update": subresources.put_scale,
        "patch": subresources.patch_scale,
    },
    "binding": {"create": subresources.create_binding},
    "eviction": {"create": subresources.create_eviction},
    "token": {"create": create_token},
    "log": {"get": get_log},
    "exec": {"get": connect_command, "create": connect_command},
    "attach": {"get": connect_command, "create": connect_command},
    "portforward": {"get": connect_ports, "create": connect_ports},
    "proxy": dict.fromkeys(("get", "create", "update", "patch", "delete"), proxy),
}
_UNSTORED: Mapping[Unstored, Mapping[str, VerbHandler]] = {
    Unstored.REVIEW: {"create": create_review},
    Unstored.BINDING: {"create": subresources.create_binding},
    Unstored.COMPONENT_STATUS: {"list": list_statuses, "get": get_status},
}
_KNOWN_MAX = 4096


class _Destination(NamedTuple):
    """Where requests of one kind lead: the route of one of them, and what answers them all; None
    answers what is not allowed."""

    route: ResourceRoute
    handler: VerbHandler | None


class Dispatch:
    """What was found for a request is remembered for those like it, until the catalog changes."""

    def __init__(self, services: Services, documents: Documents) -> None:
        self._services = services
        self._documents = documents
        self._catalog = services.catalog
        self._router = Router(services.catalog)
        self._remotes = services.remotes
        self._known: dict[RequestInfo, _Destination] = {}
        self._generation = services.catalog.generation

    async def __call__(self, exchange: Exchange) -> Answer:
        if self._remotes and (remote := self._remote(exchange.info.target)) is not None:
            return await proxy_request(self._services, exchange, remote)
        if self._generation != self._catalog.generation:
            self._generation = self._catalog.generation
            self._known.clear()
        destination = self._known.get(exchange.info)
        if destination is None:
            target = exchange.target
            if not isinstance(target, ApiPath):
                return await self._documents.answer(exchange, target.parts)
            destination = self._find(exchange.info, target)
            if destination is None:
                return exchange.text(404, "404 page not found\n")
        route, handler = destination
        route, resource = route.to(exchange.name), route.resource
        accept = exchange.headers.get("Accept", "")
        if exchange.verb == "watch" and event_stream.is_asked(accept):
            accept = event_stream.adopt(exchange)
        if accept not in PLAINLY_JSON and not resource.custom:
            _check_media(exchange, route, accept)
        if resource.deprecation_warning:
            exchange.warn(resource.deprecation_warning)
        if handler is None:
            raise MethodNotAllowed.of(resource.group_resource, route.verb)
        answer = await handler(self._services, exchange, route)
        if isinstance(answer, Response) and is_large(answer.body):
            return await compressed(self._services, exchange, answer)
        return answer

    def _find(self, info: RequestInfo, target: ApiPath) -> _Destination | None:
        """None outside everything the API serves. Raises NotFound or MethodNotAllowed."""
        route = self._router.route(info.method, target)
        if isinstance(route, PageNotFound):
            return None
        if len(self._known) >= _KNOWN_MAX:
            self._known.clear()
        found = self._known[info] = _Destination(route, _handler(route))
        return found

    def _remote(self, target: Path) -> Remote | None:
        """The group version's server, if it is another one; also for the version's documents."""
        if isinstance(target, ApiPath):
            return self._remotes.find(target.group, target.version)
        match target.parts:
            case ("apis", group, version, *_) | ("openapi", "v3", "apis", group, version):
                return self._remotes.find(group, version)
            case ("api", version, *_) | ("openapi", "v3", "api", version):
                return self._remotes.find("", version)
            case _:
                return None


def _check_media(exchange: Exchange, route: ResourceRoute, accept: str) -> None:
    """What Kubernetes' router checks before a handler negotiates."""
    try:
        check_routed(accept, is_collection=route.verb == "list")
    except NotAcceptable:
        if route.verb == "patch" and (
            route.subresource is None or route.subresource.name != "proxy"
        ):
            patch_type(exchange.headers.get("Content-Type", ""), route.resource)
        raise


def _handler(route: ResourceRoute) -> VerbHandler | None:
    sub, resource = route.subresource, route.resource
    if sub is not None and sub.name not in _SAME_KIND:
        return _SUBRESOURCES.get(sub.name, {}).get(route.verb)
    if resource.unstored is not None:
        return _UNSTORED[resource.unstored].get(route.verb)
    return _VERBS.get(route.verb)
