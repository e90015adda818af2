"""Subresources that are of another kind than their object: scale, binding, eviction, token."""

from __future__ import annotations

from proreus.api.json_types import JsonObject
from proreus.api.status import BadRequest, NotFound, PlainError
from proreus.api.wire import splice
from proreus.api.wire.options import DeleteOptions, delete_options_from_body
from proreus.net.http1.messages import Answer
from proreus.server.http.exchange import Exchange
from proreus.server.http.handlers.answers import document_answer, status_answer
from proreus.server.http.handlers.get import read_object
from proreus.server.http.handlers.patch import read_patch_request
from proreus.server.http.handlers.writing import read_write, write_options
from proreus.server.http.router import ResourceRoute
from proreus.server.http.services import Services
from proreus.server.registry import metadata
from proreus.server.registry.subresources.binding import BINDING, Bind
from proreus.server.registry.subresources.eviction import EVICTION, evict
from proreus.server.registry.subresources.scale import SCALE, rescaling, scale_of
from proreus.server.registry.verbs.patch import PatchedObject
from proreus.server.registry.verbs.update import Replacement, Update, check_name

_DONE = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}


async def get_scale(services: Services, exchange: Exchange, route: ResourceRoute) -> Answer:
    collection = services.collection(route.resource)
    key = collection.key(route.namespace, route.name)
    found = await read_object(collection, key)
    if found is None:
        raise NotFound.of(route.resource.group_resource, route.name)
    return await _scale_answer(services, exchange, route, splice.decode_item(found.item))


async def put_scale(services: Services, exchange: Exchange, route: ResourceRoute) -> Answer:
    write, scale, again = await read_write(services, exchange, route, "UpdateOptions", SCALE)
    metadata.check_namespace(scale, write.namespace)
    check_name(scale, write.name)
    wanted = rescaling(write, Replacement(scale, again))
    wanted.uid = metadata.ensure(scale).get("uid") or None
    return await _rescale(services, exchange, route, wanted)


async def patch_scale(services: Services, exchange: Exchange, route: ResourceRoute) -> Answer:
    write, document = await read_patch_request(services, exchange, route)
    wanted = rescaling(write, PatchedObject(document, SCALE), is_apply=document.is_apply)
    return await _rescale(services, exchange, route, wanted)


async def _rescale(
    services: Services, exchange: Exchange, route: ResourceRoute, wanted: Update
) -> Answer:
    outcome = await wanted.commit()
    obj = await wanted.write.collection.served(outcome.new)
    return await _scale_answer(services, exchange, route, splice.decode_item(obj.item))


async def create_binding(services: Services, exchange: Exchange, route: ResourceRoute) -> Answer:
    """Both ``pods/x/binding`` and the ``bindings`` collection, where the body names the pod."""
    pods = services.collections.named("", "v1", "pods")
    at = route._replace(resource=pods.resource)
    write, binding, _ = await read_write(services, exchange, at, "CreateOptions", BINDING)
    write.subresource = "binding"
    write.name = metadata.ensure(binding).get("name") or ""
    if route.name and write.name != route.name:
        raise BadRequest("name in URL does not match name in Binding object")
    metadata.check_namespace(binding, route.namespace)
    await Bind(write, binding).commit()
    return status_answer(exchange, _DONE, 201)


async def create_eviction(services: Services, exchange: Exchange, route: ResourceRoute) -> Answer:
    write, eviction, _ = await read_write(services, exchange, route, "CreateOptions", EVICTION)
    metadata.check_namespace(eviction, route.namespace)
    if metadata.ensure(eviction).get("name") != route.name:
        raise BadRequest("name in URL does not match name in Eviction object")
    given = eviction.get("deleteOptions")
    deletion = delete_options_from_body(given) if given else DeleteOptions()
    requested = write_options(exchange, "CreateOptions").dry_run
    if requested and deletion.dry_run and requested != deletion.dry_run:
        both = " and ".join(f"[{' '.join(one)}]" for one in (requested, deletion.dry_run))
        raise PlainError(f"Non-matching dry-run options in request and content: {both}")
    write.dry_run = write.dry_run or deletion.is_dry_run
    budgets = services.collections.named("policy", "v1", "poddisruptionbudgets")
    await evict(write, eviction, budgets, deletion)
    return status_answer(exchange, _DONE, 201)


async def _scale_answer(
    services: Services, exchange: Exchange, route: ResourceRoute, obj: JsonObject
) -> Answer:
    representation = services.representations.scale(exchange, route.resource)
    scale = scale_of(route.resource, obj)
    return await document_answer(services, exchange, representation, scale)
