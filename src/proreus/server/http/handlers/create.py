"""POST to a collection."""

from __future__ import annotations

from proreus.net.http1.messages import Answer
from proreus.server.http.exchange import Exchange
from proreus.server.http.handlers.writing import read_write, write_answer
from proreus.server.http.router import ResourceRoute
from proreus.server.http.services import Services
from proreus.server.registry.verbs.create import Create


async def create(services: Services, exchange: Exchange, route: ResourceRoute) -> Answer:
    representation = services.representations.negotiate(exchange, route.resource)
    new = Create(*await read_write(services, exchange, route, "CreateOptions"))
    outcome = await new.commit()
    return await write_answer(services, exchange, representation, new.write, outcome)
