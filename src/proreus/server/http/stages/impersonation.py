"""A user that may do so acts as another one, named by headers."""

from __future__ import annotations

from collections.abc import Awaitable

from proreus.net.http1.messages import Answer
from proreus.server.authn.impersonation import wanted_user
from proreus.server.authz.authorizer import Authorization
from proreus.server.authz.impersonation import ImpersonationCheck, constraint_of, identity
from proreus.server.authz.impersonation_metrics import ImpersonationMetrics
from proreus.server.http.exchange import Exchange
from proreus.server.http.stage_times import StageTimes
from proreus.server.http.stages.authorization import requested_action
from proreus.server.http.stages.stage import Next

_PREFIX = "impersonate-"


def impersonate(
    authorization: Authorization, metrics: ImpersonationMetrics, times: StageTimes, proceed: Next
) -> Next:
    impersonation = ImpersonationCheck(authorization, metrics)

    def stage(exchange: Exchange) -> Awaitable[Answer]:
        # One search in all names: those of extras are not known, and hardly a request has one.
        if _PREFIX in " ".join(exchange.headers).lower():
            return become_other(exchange)
        return proceed(exchange)

    async def become_other(exchange: Exchange) -> Answer:
        wanted = wanted_user(exchange.request.headers.items())
        if wanted is not None:
            mode = await impersonation.allowing_mode(requested_action(exchange), wanted)
            exchange.user = identity(mode, wanted)
            if exchange.audit is not None:
                exchange.audit.set_impersonated(exchange.user, constraint_of(mode))
            times.passed(times.impersonation, exchange)
        return await proceed(exchange)

    return stage
