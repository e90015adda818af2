"""An error is logged and forgotten: nobody tries again."""

from __future__ import annotations

import logging

from proreus.api.status import ApiError
from proreus.client import Client
from proreus.testing.explore import World
from proreus.testing.explore.faults import Fail
from tests.testing.corpus.scaffold import THINGS, Case, Tools, by_hand, ensure, part, thing

log = logging.getLogger(__name__)


async def buggy(client: Client) -> None:
    async def reconcile(tools: Tools, name: str) -> None:
        if tools.thing(name) is not None:
            try:
                await ensure(tools.maps, part(name, f"{name}-part"))
            except ApiError as error:
                log.debug("no part: %s", error)

    await by_hand(client, reconcile, watches=())


async def mended(client: Client) -> None:
    async def reconcile(tools: Tools, name: str) -> None:
        if tools.thing(name) is not None:
            await ensure(tools.maps, part(name, f"{name}-part"))

    await by_hand(client, reconcile, watches=())


async def workload(world: World) -> None:
    await world.client.resource(THINGS)("default").create(thing("a"))
    await world.settle()


CASE = Case(buggy, mended, workload, found_by=(Fail,))
