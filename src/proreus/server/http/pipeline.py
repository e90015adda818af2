"""What every request passes between the connection and its handler, in order.

Each stage wraps those below it in the list: it may act before and after them, refuse by raising, or
answer itself. ``stages/stage`` says how one is written.
"""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from functools import partial

from proreus.aio.clock import Clock
from proreus.api.wire.path import BadPathEscape
from proreus.net.http1.messages import Answer, Request, Response
from proreus.server.audit.auditor import Auditor
from proreus.server.authn.chain import Authentication
from proreus.server.authz.authorizer import Authorization
from proreus.server.fairness.fairness import Fairness
from proreus.server.http.exchange import Exchange
from proreus.server.http.metrics import RequestMetrics
from proreus.server.http.seats import Limits
from proreus.server.http.stages.audit import audit, record_unauthenticated
from proreus.server.http.stages.audit_id import audit_ids, set_audit_id
from proreus.server.http.stages.authentication import authenticate
from proreus.server.http.stages.authorization import authorize
from proreus.server.http.stages.deadline import Deadlines, limit_time
from proreus.server.http.stages.errors import answer_errors
from proreus.server.http.stages.fairness import CountObjects, take_seat
from proreus.server.http.stages.impersonation import impersonate
from proreus.server.http.stages.metrics import measure
from proreus.server.http.stages.shutdown import Shutdown, refuse_when_ending
from proreus.server.http.stages.stage import Next, Stage


class Pipeline:
    """``dispatch`` is behind all stages; it finds the handler. ``auditor`` None: nothing is
    recorded. ``around`` and ``behind``: see ``instruments``."""

    def __init__(  # noqa: PLR0913 - one part per stage
        self,
        *,
        clock: Clock,
        auditor: Auditor | None,
        authentication: Authentication,
        authorization: Authorization,
        metrics: RequestMetrics,
        deadlines: Deadlines,
        fairness: Fairness,
        limits: Limits,
        count_objects: CountObjects,
        shutdown: Shutdown,
        dispatch: Next,
        around: Sequence[Stage] = (),
        behind: Sequence[Stage] = (),
    ) -> None:
        unauthenticated = partial(record_unauthenticated, auditor) if auditor else None
        audited = (partial(audit, auditor),) if auditor else ()
        times = metrics.times
        stages: Sequence[Stage] = (
            *around,
            partial(set_audit_id, audit_ids()),
            partial(measure, metrics, clock),
            answer_errors,
            partial(limit_time, deadlines, clock),
            partial(refuse_when_ending, shutdown),
            partial(authenticate, authentication, times, refused=unauthenticated),
            *audited,
            partial(impersonate, authorization, metrics.impersonation, times),
            partial(take_seat, fairness, limits, count_objects, times),
            partial(authorize, authorization, times),
            *behind,
        )
        self._proceed = dispatch
        for stage in reversed(stages):
            self._proceed = stage(self._proceed)

    def handle(self, request: Request) -> Awaitable[Answer]:
        """The handler of the HTTP server."""
        try:
            exchange = Exchange(request)
        except BadPathEscape:
            return _bad_path()
        return self._proceed(exchange)


async def _bad_path() -> Answer:
    content = ("Content-Type", "text/plain; charset=utf-8")
    return Response(400, (content,), b"400 Bad Request", close=True)
