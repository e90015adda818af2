"""PUT of an object, its status or another part of it that has the object's own kind."""

from __future__ import annotations

from proreus.net.http1.messages import Answer
from proreus.server.http.exchange import Exchange
from proreus.server.http.handlers.writing import read_write, write_answer
from proreus.server.http.router import ResourceRoute
from proreus.server.http.services import Services
from proreus.server.registry.verbs.update import replacing


async def update(services: Services, exchange: Exchange, route: ResourceRoute) -> Answer:
    representation = services.representations.negotiate(exchange, route.resource)
    wanted = replacing(*await read_write(services, exchange, route, "UpdateOptions"))
    outcome = await wanted.commit()
    return await write_answer(services, exchange, representation, wanted.write, outcome)
