"""DELETE of an object or of a collection (spec/server §6.4)."""

from __future__ import annotations

from dataclasses import replace

from proreus.api import status
from proreus.api.field_error import invalid
from proreus.api.group_version import GroupKind, GroupResource
from proreus.api.status import Invalid, NotFound
from proreus.api.wire import json
from proreus.api.wire.options import (
    IGNORE_READ_ERRORS,
    DeleteOptions,
    WriteOptions,
    decode_delete_options,
    delete_options_from_body,
)
from proreus.net.http_request import Answer
from proreus.server.http.body import input_media
from proreus.server.http.exchange import Exchange
from proreus.server.http.handlers.answers import (
    list_answer,
    object_answer,
    refuse_form,
    status_answer,
)
from proreus.server.http.handlers.list import checked_options, read_list
from proreus.server.http.handlers.writing import begin_write
from proreus.server.http.router import ResourceRoute
from proreus.server.http.services import Services
from proreus.server.registry.verbs.delete import delete_object
from proreus.server.registry.verbs.select import Scope, list_query, next_token, selection_of
from proreus.server.registry.write import Outcome, Write

_DELETE_OPTIONS = GroupKind("meta.k8s.io", "DeleteOptions")
_JOB_WARNING = (
    "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background "
    "to remove them or set propagationPolicy=Orphan to suppress this warning"
)


async def delete(services: Services, exchange: Exchange, route: ResourceRoute) -> Answer:
    resource = route.resource
    shown = services.representations.of(exchange, resource)
    options = await delete_options(services, exchange)
    write = begin_write(services, exchange, route, WriteOptions(dry_run=options.dry_run))
    _warn_of_orphans(exchange, route, options)
    if options.ignores_read_errors:
        raise _readable(resource.group_resource, route.name)
    outcome = await delete_object(write, options)
    code = 202 if not outcome.is_gone and options.orphan_dependents is False else 200
    if outcome.is_gone and not resource.returns_deleted:
        if shown.refusal is not None:
            raise shown.refusal
        return status_answer(exchange, success(write, outcome), code)
    refuse_form(shown, resource, is_list=False)
    return object_answer(exchange, shown, await write.shown(outcome), code)


async def delete_collection(services: Services, exchange: Exchange, route: ResourceRoute) -> Answer:
    """Each object on its own, in order; what is gone already does not matter."""
    resource = route.resource
    shown = services.representations.of(exchange, resource)
    scope = Scope(route.namespace)
    list_options = replace(checked_options(exchange), watch=False)
    selection = selection_of(resource, scope, list_options)
    options = await delete_options(services, exchange)
    if options.ignores_read_errors:
        why = "is not allowed with DELETECOLLECTION, try again after removing the option"
        raise Invalid.of(_DELETE_OPTIONS, "", [invalid(IGNORE_READ_ERRORS, True, why)])
    _warn_of_orphans(exchange, route, options)
    collection = services.collection(resource)
    query = list_query(resource, selection, scope, list_options)
    listing = await read_list(collection, query, list_options)
    for found in listing.objects:
        at = route._replace(name=found.name, namespace=found.namespace)
        write = begin_write(services, exchange, at, WriteOptions(dry_run=options.dry_run))
        try:
            await delete_object(write, options)
        except NotFound:
            continue
    refuse_form(shown, resource, is_list=True)
    token = next_token(scope, listing.revision, listing.next_start)
    body = shown.view.listing(listing, continue_token=token)
    return list_answer(exchange, shown, body)


async def delete_options(services: Services, exchange: Exchange) -> DeleteOptions:
    """From the body if there is one, then the query does not count; else from the query."""
    body = await services.decoder.read(exchange)
    if body:
        options = _from_body(services, exchange, body)
    else:
        options = decode_delete_options(exchange.query)
    if violations := options.violations():
        raise Invalid.of(_DELETE_OPTIONS, "", violations)
    return options


def _readable(resource: GroupResource, name: str) -> Invalid:
    """Nothing that this server stores is unreadable."""
    why = "is exclusively used to delete corrupt object(s), try again by removing this option"
    kind = GroupKind(resource.group, resource.resource)
    return Invalid.of(kind, name, [invalid(IGNORE_READ_ERRORS, True, why)])


def success(write: Write, outcome: Outcome) -> dict[str, object]:
    """The Status that says what went."""
    resource = write.collection.resource
    details = status.resource_details(resource.group_resource, write.name)
    uid = json.decode(outcome.stored)["metadata"].get("uid")
    if uid:
        details["uid"] = uid
    return status.success(details)


def _from_body(services: Services, exchange: Exchange, body: bytes) -> DeleteOptions:
    input_media(exchange)
    return delete_options_from_body(services.decoder.decode_options(exchange, body))


def _warn_of_orphans(exchange: Exchange, route: ResourceRoute, options: DeleteOptions) -> None:
    is_job = route.resource.group == "batch" and route.resource.plural == "jobs"
    if is_job and options.propagation_policy is None and options.orphan_dependents is None:
        exchange.warn(_JOB_WARNING)
