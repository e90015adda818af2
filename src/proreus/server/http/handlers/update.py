"""PUT of an object, its status or another part of it that has the object's own kind."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial

from proreus.api.status import BadRequest
from proreus.net.http_request import Answer
from proreus.server.http.body import input_media
from proreus.server.http.exchange import Exchange
from proreus.server.http.handlers.answers import object_answer, refuse_form
from proreus.server.http.handlers.writing import begin_write, write_options
from proreus.server.http.router import ResourceRoute
from proreus.server.http.services import Services
from proreus.server.registry import metadata
from proreus.server.registry.strategies import strategy_for
from proreus.server.registry.verbs.update import Make, Updating
from proreus.server.schema.rules import JsonObject


async def update(services: Services, exchange: Exchange, route: ResourceRoute) -> Answer:
    resource = route.resource
    shown = services.representations.of(exchange, resource)
    input_media(exchange)
    body = await services.decoder.read(exchange)
    options = write_options(exchange, "UpdateOptions")
    decoded = partial(
        services.decoder.decode, exchange, body, resource.gvk, options.field_validation
    )
    obj = await decoded()
    check_name(obj, route.name)
    write = begin_write(services, exchange, route, options, body=body)
    updating = Updating(
        write=write,
        make=wanted_again(obj, decoded),
        strategy=strategy_for(resource, write.subresource),
        uid=metadata.of(obj).get("uid") or None,
        may_create=resource.create_on_update and not write.subresource,
    )
    outcome = await updating.run()
    refuse_form(shown, resource, is_list=False)
    code = 201 if outcome.is_created else 200
    return object_answer(exchange, shown, await write.shown(outcome), code)


def wanted_again(obj: JsonObject, decoded: Callable[[], Awaitable[JsonObject]]) -> Make:
    """The same wanted object for every attempt: each may change what it is given.

    A second one is rare, and only then the body is decoded again; warnings are still told once.
    """
    first: JsonObject | None = obj

    async def make(_: JsonObject | None) -> JsonObject:
        nonlocal first
        given, first = first, None
        return await decoded() if given is None else given

    return make


def check_name(obj: JsonObject, name: str) -> None:
    """The body names the object the path names. Raises BadRequest."""
    given = metadata.of(obj).get("name") or ""
    if not given:
        raise BadRequest(
            f"the name of the object ({name} based on URL) was undeterminable: "
            "name must be provided"
        )
    if given != name:
        raise BadRequest(
            f"the name of the object ({given}) does not match the name on the URL ({name})"
        )
