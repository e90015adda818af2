"""A request takes seats of its priority level before any work is done for it.

Behind authentication and impersonation, since its flow depends on its user. See ``server/fairness``
for how levels give out their seats.
"""

from __future__ import annotations

from collections.abc import Callable

from proreus.aio.turns import FLOW
from proreus.api.wire.path import ApiPath
from proreus.api.wire.query import first
from proreus.net.http1.messages import Answer
from proreus.server.fairness.fairness import Fairness
from proreus.server.fairness.queues import TooBusy
from proreus.server.http.exchange import Exchange
from proreus.server.http.seats import Limits, Seat
from proreus.server.http.stage_times import StageTimes
from proreus.server.http.stages.stage import Next

# How many objects there are of a group's resource in some version.
CountObjects = Callable[[str, str, str], int]

_LISTS = frozenset({"list", "watch", "deletecollection"})
_OBJECTS_PER_SEAT = 100
_WIDTH_MAX = 10


def take_seat(
    fairness: Fairness, limits: Limits, count: CountObjects, times: StageTimes, proceed: Next
) -> Next:
    async def stage(exchange: Exchange) -> Answer:
        if exchange.is_long_running and exchange.verb != "watch":
            exchange.seat = seat = Seat(exchange.user.name, None, limits)
        else:
            flow = fairness.flow(exchange.user, exchange.info.requested)
            exchange.flow_headers = flow.headers
            width = 1
            if exchange.verb in _LISTS:
                width = _width(exchange, count)
                FLOW.set(exchange.user.name)
            exchange.seat = seat = Seat(
                exchange.user.name,
                flow,
                limits,
                width=width,
                is_read=exchange.is_read,
                is_watch=exchange.verb == "watch",
            )
        try:
            if not seat.take_nowait():
                await seat.take()
            times.passed(times.fairness, exchange)
            return await proceed(exchange)
        except TooBusy:
            limits.rejected += 1
            text = "Too many requests, please try again later.\n"
            return exchange.text(429, text, ("Retry-After", "1"))
        finally:
            seat.leave()

    return stage


def _width(exchange: Exchange, count: CountObjects) -> int:
    """Seats of a request that reads many objects: one for each hundred, ten at most."""
    target = exchange.info.target
    if not isinstance(target, ApiPath):
        return 1
    query = exchange.query
    if exchange.verb == "watch" and first(query, "resourceVersion") not in ("", "0"):
        return 1  # it begins with what is new
    objects = count(target.group, target.version, target.resource)
    limit = first(query, "limit")
    if limit.isdecimal() and 0 < len(limit) < 10 and int(limit):
        objects = min(objects, int(limit))
    return max(1, min(_WIDTH_MAX, -(-objects // _OBJECTS_PER_SEAT)))
