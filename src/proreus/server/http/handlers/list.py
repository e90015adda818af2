"""GET of a collection: list, or watch. One entry, because it is one set of options (§2.2)."""

from __future__ import annotations

from dataclasses import replace

from proreus.api.group_version import GroupKind
from proreus.api.selectors.fields import FieldSelector
from proreus.api.status import Expired, Invalid, MethodNotAllowed
from proreus.api.wire.options import ListOptions, decode_list_options
from proreus.net.http_request import Answer, Pieces, Response
from proreus.server.http.exchange import Exchange
from proreus.server.http.handlers.answers import list_answer, refuse_form, wants_gzip
from proreus.server.http.handlers.watch import watch
from proreus.server.http.negotiation import PLAIN
from proreus.server.http.router import ResourceRoute
from proreus.server.http.services import Services
from proreus.server.registry.collection import Collection
from proreus.server.registry.verbs.select import (
    Scope,
    list_query,
    next_token,
    restart_token,
    selection_of,
)
from proreus.server.views import ConvertedView, JsonView
from proreus.server.watch_cache.query import Listing, ListQuery

# From here on a list is sent in pieces; one join is cheaper for less.
_MANY = 100
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
    shown = services.representations.of(exchange, resource)
    options = checked_options(exchange)
    scope = Scope(route.namespace, route.name)
    if route.name and options.fields.is_empty:
        options = replace(options, fields=FieldSelector.equal("metadata.name", route.name))
    selection = selection_of(resource, scope, options)
    if options.watch or route.is_legacy_watch:
        if "watch" not in resource.verbs:
            raise MethodNotAllowed.of(resource.group_resource, "watch")
        return await watch(services, exchange, shown, selection, options, route=route)
    collection = services.collection(resource)
    query = list_query(resource, selection, scope, options)
    listing = await read_list(collection, query, options)
    refuse_form(shown, resource, is_list=True)
    token = next_token(scope, listing.revision, listing.next_start)
    view = shown.view
    is_large = len(listing.objects) >= _MANY and not wants_gzip(exchange)
    if is_large and isinstance(view, JsonView | ConvertedView) and shown.choice is PLAIN:
        size, pieces = view.listing_pieces(listing, continue_token=token)
        return Response(200, exchange.head(), Pieces(size, pieces))
    return list_answer(exchange, shown, view.listing(listing, continue_token=token))


def checked_options(exchange: Exchange) -> ListOptions:
    """Decoded, defaulted and validated, in that order."""
    options = decode_list_options(exchange.query).defaulted()
    if violations := options.violations():
        raise Invalid.of(_LIST_OPTIONS, "", violations)
    return options


async def read_list(collection: Collection, query: ListQuery, options: ListOptions) -> Listing:
    versions = collection.resource.versions
    try:
        if versions is not None:
            return await versions.listing(collection.cache, query)
        return await collection.cache.list(query)
    except Expired as error:
        if not options.continue_token:
            raise
        again = {"continue": restart_token(options)}
        raise Expired(_CONTINUE_EXPIRED, metadata=again) from error
