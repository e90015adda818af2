"""POST to a collection."""

from __future__ import annotations

from proreus.net.http1.messages import Answer
from proreus.server.http.exchange import Exchange
from proreus.server.http.handlers.writing import read_write, write_answer
from proreus.server.http.router import ResourceRoute
from proreus.server.http.services import Services
from proreus.server.registry.verbs import create as verb


async def create(services: Services, exchange: Exchange, route: ResourceRoute) -> Answer:
    representation = services.representations.negotiate(exchange, route.resource)
    write, obj = await read_write(services, exchange, route, "CreateOptions")
    outcome = await verb.create(write, obj)
    return await write_answer(services, exchange, representation, write, outcome)
