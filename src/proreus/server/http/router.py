"""Path and method → the verb of a resource, or why there is none (server.md §1.1, §12)."""

from __future__ import annotations

from typing import NamedTuple

from proreus.api.status import BadRequest, MethodNotAllowed, NotFound
from proreus.api.wire.path import ApiPath
from proreus.lazy_dataclass import dataclass
from proreus.server.registry.catalog import Catalog
from proreus.server.resource import Resource, Subresource

_ITEM_VERBS = {"GET": "get", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
_COLLECTION_VERBS = {"GET": "list", "POST": "create", "DELETE": "deletecollection"}
_SUBRESOURCE_VERBS = {**_ITEM_VERBS, "POST": "create"}


@dataclass(frozen=True, slots=True)
class PageNotFound:
    """Outside everything the API serves: answered in plain text."""


class ResourceRoute(NamedTuple):
    """``verb`` is what the method means here; list covers watch, which is an option of it."""

    resource: Resource
    verb: str
    namespace: str
    name: str
    subresource: Subresource | None = None
    is_legacy_watch: bool = False

    def to(self, name: str) -> ResourceRoute:
        """To another object, if it leads to one."""
        resource, verb, namespace, own_name, subresource, is_legacy_watch = self
        if own_name == name or not own_name:
            return self
        return ResourceRoute(resource, verb, namespace, name, subresource, is_legacy_watch)


# What a path leads to.
RouteResult = ResourceRoute | PageNotFound


class Router:
    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog

    def route(self, method: str, path: ApiPath) -> RouteResult:
        """Raises NotFound or MethodNotAllowed."""
        resource = self._catalog.lookup(path.group, path.version, path.resource)
        if resource is None or (path.rest and not _is_rest_taken(resource, path)):
            if path.group and not self._catalog.has_builtin_group(path.group):
                return PageNotFound()
            raise NotFound.path()
        if resource.custom:
            return _custom(resource, method, path)
        match _place(resource, path):
            case "collection":
                return _collection(resource, method, path)
            case "item":
                return _item(resource, method, path)
            case "subresource":
                return _below(resource, method, path)
            case _:
                raise NotFound.path()


def _is_rest_taken(resource: Resource, path: ApiPath) -> bool:
    """Behind a proxy the path is not ours to read; of custom objects its end is not looked at."""
    is_proxied = path.subresource == "proxy" and resource.subresource("proxy") is not None
    return is_proxied or resource.custom is not None


def _custom(resource: Resource, method: str, path: ApiPath) -> RouteResult:
    """Kubernetes routes custom resources by code of their own, with other answers in odd cases."""
    place, method = _place(resource, path), "GET" if method == "HEAD" else method
    if not place or (not path.watch and _is_across(resource, method, path)):
        return PageNotFound()
    if place == "subresource":
        sub = resource.subresource(path.subresource)
        if sub is None:
            raise NotFound.of(resource.group_resource, path.name)
        verb = _SUBRESOURCE_VERBS.get(method, "")
        if verb not in sub.verbs:
            raise MethodNotAllowed.of(resource.group_resource, verb)
        return ResourceRoute(resource, verb, path.namespace, path.name, sub)
    if place == "item" and method == "POST":
        return ResourceRoute(resource, "create", path.namespace, "")
    if place == "collection" and method in ("PUT", "PATCH"):
        raise BadRequest("name must be provided")
    if method not in _SUBRESOURCE_VERBS:
        raise MethodNotAllowed.of(resource.group_resource, "")
    go = _collection if place == "collection" else _item
    return go(resource, method, path)


def _is_across(resource: Resource, method: str, path: ApiPath) -> bool:
    """A write to all namespaces at once."""
    return resource.namespaced and not path.scoped and not path.name and method != "GET"


def _place(resource: Resource, path: ApiPath) -> str:
    """Where the path stands: "" if the resource has no such place."""
    if path.scoped and not resource.namespaced:
        return ""
    if path.subresource:
        is_whole = path.name and (path.scoped or not resource.namespaced)
        return "subresource" if is_whole and not path.watch else ""
    if path.name:
        return "item" if path.scoped or not resource.namespaced else ""
    return "collection"


def _collection(resource: Resource, method: str, path: ApiPath) -> ResourceRoute:
    verbs = resource.verbs
    if path.watch:
        if "watch" not in verbs:
            raise NotFound.path()
        if method != "GET":
            raise MethodNotAllowed.default()
        return ResourceRoute(resource, "list", path.namespace, "", is_legacy_watch=True)
    verb = _COLLECTION_VERBS.get(method, "")
    # Across all namespaces one can only list and watch.
    if verb not in verbs or (resource.namespaced and not path.scoped and verb != "list"):
        is_across = resource.namespaced and not path.scoped
        served = ("list",) if is_across else ("list", "create", "deletecollection", "watch")
        if not any(other in verbs for other in served):
            raise NotFound.path()
        raise MethodNotAllowed.default()
    namespace = path.namespace if resource.namespaced else ""
    return ResourceRoute(resource, verb, namespace, "")


def _item(resource: Resource, method: str, path: ApiPath) -> ResourceRoute:
    verbs = resource.verbs
    namespace = path.namespace if resource.namespaced else ""
    if path.watch:
        if "watch" not in verbs:
            raise NotFound.path()
        if method != "GET":
            raise MethodNotAllowed.default()
        return ResourceRoute(resource, "list", namespace, path.name, is_legacy_watch=True)
    verb = _ITEM_VERBS.get(method, "")
    if verb not in verbs:
        if not any(other in verbs for other in _ITEM_VERBS.values()):
            raise NotFound.path()
        raise MethodNotAllowed.default()
    return ResourceRoute(resource, verb, namespace, path.name)


def _below(resource: Resource, method: str, path: ApiPath) -> ResourceRoute:
    sub = resource.subresource(path.subresource)
    if sub is None:
        raise NotFound.path()
    verb = _SUBRESOURCE_VERBS.get(method, "")
    if sub.name == "proxy" and method in ("HEAD", "OPTIONS"):
        verb = "get"  # what is proxied knows more methods
    if verb not in sub.verbs:
        raise MethodNotAllowed.default()
    namespace = path.namespace if resource.namespaced else ""
    return ResourceRoute(resource, verb, namespace, path.name, sub)
