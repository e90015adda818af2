"""GET of a collection, a list or a watch: both have the same options (server.md §2.2)."""

from __future__ import annotations

from dataclasses import replace

from proreus.api.group_version import GroupKind
from proreus.api.selectors.fields import FieldSelector
from proreus.api.status import Expired, Invalid, MethodNotAllowed
from proreus.api.wire.options import ListOptions, decode_list_options
from proreus.lazy_dataclass import dataclass
from proreus.net.http1.messages import Answer
from proreus.server.http.exchange import Exchange
from proreus.server.http.handlers.answers import list_answer, refuse_form
from proreus.server.http.handlers.watch import watch
from proreus.server.http.router import ResourceRoute
from proreus.server.http.seats import Seat
from proreus.server.http.services import Services
from proreus.server.registry.collection import Collection
from proreus.server.registry.verbs.select import (
    Scope,
    list_query,
    next_token,
    restart_token,
    selection_of,
)
from proreus.server.resource import Resource
from proreus.server.watch_cache.query import Exact, ListQuery, ListResult, NotOlderThan, Selection

_SHORT_QUERY = 2_000  # characters: some hundred requirements, a millisecond
_LIST_OPTIONS = GroupKind("meta.k8s.io", "ListOptions")
_CONTINUE_EXPIRED = (
    "The provided continue parameter is too old to display a consistent list result. You can "
    "start a new list without the continue parameter, or use the continue token in this response "
    "to retrieve the remainder of the results. Continuing with the provided token results in an "
    "inconsistent list - objects that were created, modified, or deleted between the time the "
    "first chunk was returned and now may show up in the list."
)


async def list_or_watch(services: Services, exchange: Exchange, route: ResourceRoute) -> Answer:
    resource = route.resource
    representation = services.representations.negotiate(exchange, resource)
    scope = Scope(route.namespace, route.name)
    asked = await asked_for(services, exchange, resource, scope)
    options, selection = asked.options, asked.selection
    if options.watch or route.is_legacy_watch:
        if "watch" not in resource.verbs:
            raise MethodNotAllowed.of(resource.group_resource, "watch")
        return await watch(services, exchange, representation, selection, options, route=route)
    collection = services.collection(resource)
    query = list_query(resource, selection, scope, options)
    listing = await read_list(collection, query, options, exchange.seat)
    refuse_form(representation, resource, is_list=True)
    token = next_token(scope, listing.revision, listing.next_start)
    return await list_answer(services, exchange, representation, listing, token)


@dataclass(frozen=True, slots=True)
class Asked:
    """What the query of a list or watch says."""

    options: ListOptions
    selection: Selection


async def asked_for(
    services: Services, exchange: Exchange, resource: Resource, scope: Scope
) -> Asked:
    """Selectors of thousands of requirements are read off the loop. Raises ApiError."""
    if len(exchange.request.raw_query) <= _SHORT_QUERY:
        return _asked_for(exchange, resource, scope)
    return await services.offload.queries.run(lambda: _asked_for(exchange, resource, scope))


def _asked_for(exchange: Exchange, resource: Resource, scope: Scope) -> Asked:
    options = checked_options(exchange)
    if scope.name and options.fields.is_empty:
        options = replace(options, fields=FieldSelector.equal("metadata.name", scope.name))
    return Asked(options, selection_of(resource, scope, options))


def checked_options(exchange: Exchange) -> ListOptions:
    """Decoded, defaulted and validated, in that order."""
    options = decode_list_options(exchange.query).defaulted()
    if violations := options.violations():
        raise Invalid.of(_LIST_OPTIONS, "", violations)
    return options


async def read_list(
    collection: Collection, query: ListQuery, options: ListOptions, seat: Seat
) -> ListResult:
    """``seat`` is given back until the cache has reached the revision that is asked for."""
    versions, state = collection.resource.versions, query.state
    try:
        if isinstance(state, NotOlderThan | Exact) and collection.cache.is_before(state.revision):
            async with seat.given_back():
                await collection.cache.wait_for(state.revision)
        if versions is not None:
            return await versions.listing(collection.cache, query)
        return await collection.cache.list(query)
    except Expired as error:
        if not options.continue_token:
            raise
        again = {"continue": restart_token(options)}
        raise Expired(_CONTINUE_EXPIRED, metadata=again) from error
