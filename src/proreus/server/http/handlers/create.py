"""POST to a collection."""

from __future__ import annotations

from proreus.net.http_request import Answer
from proreus.server.http.body import input_media
from proreus.server.http.exchange import Exchange
from proreus.server.http.handlers.answers import object_answer, refuse_form
from proreus.server.http.handlers.writing import begin_write, write_options
from proreus.server.http.router import ResourceRoute
from proreus.server.http.services import Services
from proreus.server.registry.verbs.create import create as create_object


async def create(services: Services, exchange: Exchange, route: ResourceRoute) -> Answer:
    resource = route.resource
    shown = services.representations.of(exchange, resource)
    input_media(exchange)
    body = await services.decoder.read(exchange)
    options = write_options(exchange, "CreateOptions")
    obj = await services.decoder.decode(exchange, body, resource.gvk, options.field_validation)
    write = begin_write(services, exchange, route, options, body=body)
    outcome = await create_object(write, obj)
    refuse_form(shown, resource, is_list=False)
    return object_answer(exchange, shown, await write.shown(outcome), 201)
