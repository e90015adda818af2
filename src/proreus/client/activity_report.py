"""What the informers and controllers of this process are doing, told to the server's debug pages.

    async with reported(client, "websites"):
        ...

A report is posted to ``/debug/listwatch/clients`` (``docs/debug.md``), whose answer says when the
next one is wanted: every two seconds while somebody looks, seldom otherwise. A server that has no
such page, or does not want reports of this user, is asked no more: the client works with any
cluster.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from proreus.aio.backoff import Backoff
from proreus.aio.clock import Clock, SystemClock
from proreus.aio.gate import Gate
from proreus.aio.tasks import beside, supervise
from proreus.api.json_types import JsonObject
from proreus.api.status import ApiError
from proreus.api.wire import json
from proreus.client.activity import Activity, recorded_in
from proreus.client.client import Client
from proreus.client.rest.request import RestRequest
from proreus.net.client.transport_error import TransportError

log = logging.getLogger(__name__)

PATH = "/debug/listwatch/clients"
_AFTER_FAILURE_S = 30.0
_EARLIEST_S, _LATEST_S = 1.0, 300.0


class ActivityReporter:
    """``identity``: what people call this process."""

    def __init__(
        self, client: Client, activity: Activity, identity: str, clock: Clock | None = None
    ) -> None:
        self._client = client
        self._activity = activity
        self._identity = identity
        self._clock = clock or SystemClock()

    async def run(self) -> None:
        """Until cancelled."""
        while (delay_s := await self.report()) is not None:
            await self._clock.sleep(delay_s)
        await Gate().wait_open()

    async def report(self) -> float | None:
        """Send one report; seconds until the next, None if the server wants none."""
        body = json.encode(report_of(self._identity, self._activity))
        try:
            answer = await self._client.rest.get_json(
                RestRequest("create", "POST", PATH, body=body)
            )
            wanted_s = float(answer["reportAfterSeconds"])
        except ApiError as refused:
            if refused.code in (401, 403, 404, 405):
                log.debug("activity is not reported: reason=%s", refused)
                return None
            return _AFTER_FAILURE_S
        except (TransportError, KeyError, TypeError, ValueError):
            return _AFTER_FAILURE_S
        return min(max(wanted_s, _EARLIEST_S), _LATEST_S)


@asynccontextmanager
async def reported(
    client: Client, identity: str, clock: Clock | None = None
) -> AsyncIterator[None]:
    """While the body lasts, what it runs is told."""
    clock = clock or SystemClock()
    activity = Activity()
    reporter = ActivityReporter(client, activity, identity, clock)
    kept = supervise(
        "activity reports", reporter.run, clock=clock, backoff=Backoff(clock), died=_died
    )
    with recorded_in(activity):
        async with beside(kept, name="activity reports", ended=_never):
            yield


def _died(part: str, why: BaseException | None, delay_s: float) -> None:
    log.error("part died, restarting: part=%s delay_s=%.1f", part, delay_s, exc_info=why)


def _never() -> None:
    """It ends by cancellation alone."""


def report_of(identity: str, activity: Activity) -> JsonObject:
    return {
        "identity": identity,
        "informers": [informer.describe() for informer in activity.informers],
        "controllers": [controller.describe() for controller in activity.controllers],
    }
