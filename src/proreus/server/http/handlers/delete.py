"""DELETE of an object or of a collection (server.md §6.4)."""

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
from proreus.net.http1.messages import Answer
from proreus.server.http.body import input_media, read_body
from proreus.server.http.exchange import Exchange
from proreus.server.http.handlers.answers import list_answer, refuse_form, status_answer
from proreus.server.http.handlers.list import asked_for, read_list
from proreus.server.http.handlers.writing import begin_write, write_answer
from proreus.server.http.router import ResourceRoute
from proreus.server.http.services import Services
from proreus.server.registry.verbs.delete import Delete
from proreus.server.registry.verbs.select import Scope, list_query, next_token
from proreus.server.registry.write import Write
from proreus.server.storage.resource_store import Outcome

_DELETE_OPTIONS = GroupKind("meta.k8s.io", "DeleteOptions")


async def delete(services: Services, exchange: Exchange, route: ResourceRoute) -> Answer:
    resource = route.resource
    representation = services.representations.negotiate(exchange, resource)
    options = await delete_options(services, exchange)
    write = begin_write(services, exchange, route, WriteOptions(dry_run=options.dry_run))
    _warn_of_orphans(exchange, route, options)
    if options.ignores_read_errors:
        raise _readable(resource.group_resource, route.name)
    outcome = await Delete(write, options).commit()
    code = 202 if not outcome.is_removed and options.orphan_dependents is False else 200
    if outcome.is_removed and not resource.lifecycle.returns_deleted:
        if representation.refusal is not None:
            raise representation.refusal
        return status_answer(exchange, success(write, outcome), code)
    return await write_answer(services, exchange, representation, write, outcome, code)


async def delete_collection(services: Services, exchange: Exchange, route: ResourceRoute) -> Answer:
    """Each object on its own, in order; what is gone already does not matter."""
    resource = route.resource
    representation = services.representations.negotiate(exchange, resource)
    scope = Scope(route.namespace)
    asked = await asked_for(services, exchange, resource, scope)
    list_options, selection = replace(asked.options, watch=False), asked.selection
    options = await delete_options(services, exchange)
    if options.ignores_read_errors:
        why = "is not allowed with DELETECOLLECTION, try again after removing the option"
        raise Invalid.of(_DELETE_OPTIONS, "", [invalid(IGNORE_READ_ERRORS, True, why)])
    _warn_of_orphans(exchange, route, options)
    collection = services.collection(resource)
    query = list_query(resource, selection, scope, list_options)
    listing = await read_list(collection, query, list_options, exchange.seat)
    for found in listing.objects:
        at = route._replace(name=found.name, namespace=found.namespace)
        write = begin_write(services, exchange, at, WriteOptions(dry_run=options.dry_run))
        write.is_of_collection = True
        try:
            await Delete(write, options).commit()
        except NotFound:
            continue
    refuse_form(representation, resource, is_list=True)
    token = next_token(scope, listing.revision, listing.next_start)
    return await list_answer(services, exchange, representation, listing, token)


async def delete_options(services: Services, exchange: Exchange) -> DeleteOptions:
    """From the body if there is one, then the query does not count; else from the query."""
    text = await read_body(exchange)
    if text:
        body = services.decoder.body(text, input_media(exchange))
        decoded = await services.decoder.decode_options(body)
        if exchange.audit is not None:
            kind = {"kind": "DeleteOptions", "apiVersion": "v1"}
            exchange.audit.set_request_object(kind | decoded)
        options = delete_options_from_body(decoded)
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
    """The Status that names the deleted object."""
    resource = write.collection.resource
    details = status.resource_details(resource.group_resource, write.name)
    uid = json.decode(outcome.new.value)["metadata"].get("uid")
    if uid:
        details["uid"] = uid
    return status.success(details)


def _warn_of_orphans(exchange: Exchange, route: ResourceRoute, options: DeleteOptions) -> None:
    warning = route.resource.lifecycle.propagation_warning
    if warning and options.propagation_policy is None and options.orphan_dependents is None:
        exchange.warn(warning)
