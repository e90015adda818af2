"""What the query of a debug page names: a resource, a namespace, a name."""

from __future__ import annotations

from proreus.api.status import BadRequest
from proreus.api.wire.query import first, integer
from proreus.lazy_dataclass import dataclass
from proreus.server.http.exchange import Exchange
from proreus.server.http.services import Services
from proreus.server.registry.collection import Collection

_LIMIT = 100
_LIMIT_MAX = 1000


@dataclass(frozen=True, slots=True)
class PageQuery:
    """Every part may be "": all of them. ``group`` None: of any group."""

    group: str | None
    version: str
    resource: str
    namespace: str
    name: str
    limit: int

    def includes(self, collection: Collection) -> bool:
        resource = collection.resource
        return (
            (not self.resource or self.resource == resource.plural)
            and (self.group is None or self.group == resource.group)
            and (not self.version or self.version == resource.version)
        )


def page_query(exchange: Exchange) -> PageQuery:
    """Raises BadRequest."""
    query = exchange.query
    limit = integer(query, "limit")
    if limit is not None and not 0 < limit <= _LIMIT_MAX:
        raise BadRequest(f"limit: must be a number from 1 to {_LIMIT_MAX}")
    resource = first(query, "resource")
    # The core group's name is empty: with a resource, no group means that one.
    has_group = "group" in query or bool(resource)
    return PageQuery(
        group=first(query, "group") if has_group else None,
        version=first(query, "version"),
        resource=resource,
        namespace=first(query, "namespace"),
        name=first(query, "name"),
        limit=limit or _LIMIT,
    )


def queried_collection(services: Services, query: PageQuery) -> Collection:
    """The one that is asked about; without a version, the stored one. Raises BadRequest."""
    if query.version:
        found = services.catalog.lookup(query.group or "", query.version, query.resource)
        if found is not None and found.unstored is None:
            return services.collection(found)
    else:
        for collection in services.collections.stored():
            if query.resource and query.includes(collection):
                return collection
    raise BadRequest("group, version, resource: no such resource is stored here")
