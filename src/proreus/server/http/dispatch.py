"""From a permitted request to its handler: by verb, and for a few resources by their name."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping

from proreus.api.status import MethodNotAllowed, NotAcceptable
from proreus.api.wire.path import ApiPath
from proreus.net.http_request import Answer, Response
from proreus.server.http.documents import Documents
from proreus.server.http.exchange import Exchange
from proreus.server.http.handlers import subresources
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

Handler = Callable[[Services, Exchange, ResourceRoute], Awaitable[Answer]]

_VERBS: Mapping[str, Handler] = {
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
_SUBRESOURCES: Mapping[str, Mapping[str, Handler]] = {
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
_VIRTUAL: Mapping[tuple[str, str], Mapping[str, Handler]] = {
    ("", "bindings"): {"create": subresources.create_binding},
    ("", "componentstatuses"): {"list": list_statuses, "get": get_status},
}
_REVIEWS = frozenset({"authentication.k8s.io", "authorization.k8s.io"})


class Dispatch:
    def __init__(self, services: Services, documents: Documents) -> None:
        self._services = services
        self._documents = documents
        self._router = Router(services.catalog)

    async def __call__(self, exchange: Exchange) -> Answer:
        target = exchange.target
        if not isinstance(target, ApiPath):
            return await self._documents.answer(exchange, target.parts)
        route = self._router.route(exchange.method, target)
        if isinstance(route, PageNotFound):
            return exchange.text(404, "404 page not found\n")
        accept = exchange.headers.get("Accept", "")
        if accept and not route.resource.custom:
            _check_media(exchange, route, accept)
        if route.resource.deprecation_warning:
            exchange.warn(route.resource.deprecation_warning)
        answer = await _handler(route)(self._services, exchange, route)
        if isinstance(answer, Response) and is_large(answer.body):
            return await compressed(exchange, answer)
        return answer


def _check_media(exchange: Exchange, route: ResourceRoute, accept: str) -> None:
    """The router's look at media types: first at what it is sent, then at what it shall answer."""
    try:
        check_routed(accept, is_collection=route.verb == "list")
    except NotAcceptable:
        if route.verb == "patch" and (
            route.subresource is None or route.subresource.name != "proxy"
        ):
            patch_type(exchange.headers.get("Content-Type", ""), route.resource)
        raise


def _handler(route: ResourceRoute) -> Handler:
    """Raises MethodNotAllowed."""
    sub, resource = route.subresource, route.resource
    found: Handler | None
    if sub is not None and sub.name not in _SAME_KIND:
        found = _SUBRESOURCES.get(sub.name, {}).get(route.verb)
    elif resource.group in _REVIEWS:
        found = create_review
    elif (resource.group, resource.plural) in _VIRTUAL:
        found = _VIRTUAL[resource.group, resource.plural].get(route.verb)
    else:
        found = _VERBS.get(route.verb)
    if found is None:
        raise MethodNotAllowed.of(resource.group_resource, route.verb)
    return found
