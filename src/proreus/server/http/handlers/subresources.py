"""Subresources that are of another kind than their object: scale, binding, eviction, token."""

from __future__ import annotations

from functools import partial

from proreus.api.group_version import GroupVersionKind
from proreus.api.status import BadRequest, NotFound
from proreus.api.wire import splice
from proreus.api.wire.options import DeleteOptions, delete_options_from_body
from proreus.net.http_request import Answer
from proreus.server.http.body import input_media
from proreus.server.http.exchange import Exchange
from proreus.server.http.handlers.answers import document_answer, status_answer
from proreus.server.http.handlers.get import read_object
from proreus.server.http.handlers.patch import begin_patch, patched
from proreus.server.http.handlers.update import check_name, wanted_again
from proreus.server.http.handlers.writing import begin_write, write_options
from proreus.server.http.router import ResourceRoute
from proreus.server.http.services import Services
from proreus.server.registry import metadata
from proreus.server.registry.strategies import strategy_for
from proreus.server.registry.subresources.binding import bind
from proreus.server.registry.subresources.eviction import Ambiguous, evict
from proreus.server.registry.subresources.scale import SCALE, scale_of, scaled
from proreus.server.registry.verbs.update import Make, Updating
from proreus.server.registry.write import Write
from proreus.server.schema.rules import JsonObject

_BINDING = GroupVersionKind("", "v1", "Binding")
_EVICTION = GroupVersionKind("policy", "v1", "Eviction")
_DONE = {
    "kind": "Status",
    "apiVersion": "v1",
    "metadata": {},
    "status": "Success",
    "code": 201,
}


async def get_scale(services: Services, exchange: Exchange, route: ResourceRoute) -> Answer:
    collection = services.collection(route.resource)
    key = collection.key(route.namespace, route.name)
    found = await read_object(collection, key, "")
    if found is None:
        raise NotFound.of(route.resource.group_resource, route.name)
    return _scale_answer(services, exchange, route, splice.decode_item(found.item))


async def put_scale(services: Services, exchange: Exchange, route: ResourceRoute) -> Answer:
    input_media(exchange)
    body = await services.decoder.read(exchange)
    options = write_options(exchange, "UpdateOptions")
    decoded = partial(services.decoder.decode, exchange, body, SCALE, options.field_validation)
    scale = await decoded()
    check_name(scale, route.name)
    write = begin_write(services, exchange, route, options)
    return await _rescale(services, exchange, route, write, wanted_again(scale, decoded))


async def patch_scale(services: Services, exchange: Exchange, route: ResourceRoute) -> Answer:
    document, write, validation = await begin_patch(services, exchange, route)
    make = patched(write, document, SCALE, validation)
    return await _rescale(services, exchange, route, write, make)


async def _rescale(
    services: Services, exchange: Exchange, route: ResourceRoute, write: Write, make: Make
) -> Answer:
    resource = route.resource

    async def wanted(live: JsonObject | None) -> JsonObject:
        assert live is not None, "scale never creates"
        if (own := resource.scale) is not None:
            scale = await make(own.lenient(live))
            return own.scaled(live, scale, resource.group_resource, route.name)
        scale = await make(scale_of(live))
        return scaled(live, scale, resource.group_resource, route.name)

    updating = Updating(write=write, make=wanted, strategy=strategy_for(resource, ""))
    outcome = await updating.run()
    shown = await write.shown(outcome)
    return _scale_answer(services, exchange, route, splice.decode_item(shown.item))


async def create_binding(services: Services, exchange: Exchange, route: ResourceRoute) -> Answer:
    """Both ``pods/x/binding`` and the ``bindings`` collection, where the body names the pod."""
    input_media(exchange)
    body = await services.decoder.read(exchange)
    options = write_options(exchange, "CreateOptions")
    binding = await services.decoder.decode(exchange, body, _BINDING, options.field_validation)
    name = metadata.of(binding).get("name") or ""
    if route.name and name != route.name:
        raise BadRequest("name in URL does not match name in Binding object")
    _check_namespace(binding, route.namespace)
    pods = services.collections.named("", "v1", "pods")
    at = route._replace(name=name)
    write = begin_write(services, exchange, at, options, pods)
    write.subresource = "binding"
    await bind(write, binding)
    return status_answer(exchange, _DONE, 201)


async def create_eviction(services: Services, exchange: Exchange, route: ResourceRoute) -> Answer:
    input_media(exchange)
    body = await services.decoder.read(exchange)
    options = write_options(exchange, "CreateOptions")
    eviction = await services.decoder.decode(exchange, body, _EVICTION, options.field_validation)
    name = metadata.of(eviction).get("name") or route.name
    if name != route.name:
        raise BadRequest("name in URL does not match name in Eviction object")
    _check_namespace(eviction, route.namespace)
    given = eviction.get("deleteOptions")
    deletion = delete_options_from_body(given) if given else DeleteOptions()
    write = begin_write(services, exchange, route, options)
    if deletion.is_dry_run:
        write.dry_run = True
    budgets = services.collections.named("policy", "v1", "poddisruptionbudgets")
    try:
        await evict(write, budgets, deletion)
    except Ambiguous as why:
        failed = {**_DONE, "status": "Failure", "message": str(why), "code": 500}
        return status_answer(exchange, failed, 201)
    return status_answer(exchange, _DONE, 201)


def _scale_answer(
    services: Services, exchange: Exchange, route: ResourceRoute, obj: JsonObject
) -> Answer:
    shown = services.representations.scale(exchange, route.resource)
    own = route.resource.scale
    return document_answer(exchange, shown, own.of(obj) if own else scale_of(obj))


def _check_namespace(obj: JsonObject, namespace: str) -> None:
    given = metadata.of(obj).get("namespace")
    if given and given != namespace:
        raise BadRequest(
            "the namespace of the provided object does not match the namespace sent on the request"
        )
