"""From an authorized request to its handler: by verb, subresource, or what its kind declares.

All that the server answers is chosen in ``Dispatch.__call__``: documents, resources, what another
API server serves (``server/aggregation``), or nothing.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping

from proreus.api.status import MethodNotAllowed, NotAcceptable
from proreus.api.wire.path import ApiPath, Path
from proreus.net.http1.messages import Answer, Response
from proreus.server.aggregation.remote import Remote
from proreus.server.http.documents import Documents
from proreus.server.http.exchange import Exchange
from proreus.server.http.handlers import event_stream, subresources
from proreus.server.http.handlers.aggregated import hand_through
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
from proreus.server.http.negotiation import check_routed, patch_type
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


class Dispatch:
    def __init__(self, services: Services, documents: Documents) -> None:
        self._services = services
        self._documents = documents
        self._router = Router(services.catalog)
        self._remotes = services.remotes

    async def __call__(self, exchange: Exchange) -> Answer:
        target = exchange.target
        if self._remotes and (remote := self._remote(target)) is not None:
            return await hand_through(self._services, exchange, remote)
        if not isinstance(target, ApiPath):
            return await self._documents.answer(exchange, target.parts)
        route = self._router.route(exchange.method, target)
        if isinstance(route, PageNotFound):
            return exchange.text(404, "404 page not found\n")
        accept = exchange.headers.get("Accept", "")
        if exchange.verb == "watch" and event_stream.is_asked(accept):
            accept = event_stream.adopt(exchange)
        if accept and not route.resource.custom:
            _check_media(exchange, route, accept)
        if route.resource.deprecation_warning:
            exchange.warn(route.resource.deprecation_warning)
        answer = await _handler(route)(self._services, exchange, route)
        if isinstance(answer, Response) and is_large(answer.body):
            return await compressed(self._services, exchange, answer)
        return answer

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


def _handler(route: ResourceRoute) -> VerbHandler:
    """Raises MethodNotAllowed."""
    sub, resource = route.subresource, route.resource
    found: VerbHandler | None
    if sub is not None and sub.name not in _SAME_KIND:
        found = _SUBRESOURCES.get(sub.name, {}).get(route.verb)
    elif resource.unstored is not None:
        found = _UNSTORED[resource.unstored].get(route.verb)
    else:
        found = _VERBS.get(route.verb)
    if found is None:
        raise MethodNotAllowed.of(resource.group_resource, route.verb)
    return found
