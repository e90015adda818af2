"""What a request to a store passes before its verb: stages as a server's, but fewer."""

from __future__ import annotations

from collections.abc import Awaitable
from functools import partial
from typing import TYPE_CHECKING

from proreus.api.status import ApiError, Unauthorized
from proreus.api.wire.path import BadPathEscape
from proreus.embedded.access import Authorize
from proreus.net.http1.messages import Answer, Handler, Request, Response
from proreus.server.authz.authorizer import forbidden
from proreus.server.http.exchange import Exchange
from proreus.server.http.stages.audit_id import set_audit_id
from proreus.server.http.stages.authorization import requested_action
from proreus.server.http.stages.errors import answer_errors
from proreus.server.http.stages.stage import Next, Stage
from proreus.server.registry.user import AUTHENTICATED, User

if TYPE_CHECKING:
    from proreus.embedded.engine import Engine

_PROGRAM = User("program", (AUTHENTICATED,))


def own_requests(engine: Engine) -> Handler:
    """Those of the program itself."""
    return _through(engine, partial(_as_user, _PROGRAM))


def requests_of(engine: Engine, user: str | None, authorize: Authorize | None) -> Handler:
    """Those of somebody outside; None: nobody knows who it is."""
    if user is None:
        return refused(engine, Unauthorized.default())
    known = User(user, (AUTHENTICATED,))
    if authorize is None:
        return _through(engine, partial(_as_user, known))
    return _through(engine, partial(_as_user, known), partial(_authorized, authorize))


def refused(engine: Engine, why: ApiError) -> Handler:
    """Whatever is asked, this is the answer."""

    def refuse(_: Next) -> Next:
        async def stage(exchange: Exchange) -> Answer:
            raise why

        return stage

    return _through(engine, refuse)


def _through(engine: Engine, *own: Stage) -> Handler:
    proceed: Next = engine.dispatch
    stages: tuple[Stage, ...] = (partial(set_audit_id, engine.audit_ids), answer_errors, *own)
    for stage in reversed(stages):
        proceed = stage(proceed)
    return partial(_handle, proceed)


def _handle(proceed: Next, request: Request) -> Awaitable[Answer]:
    try:
        exchange = Exchange(request)
    except BadPathEscape:
        return _bad_path()
    return proceed(exchange)


async def _bad_path() -> Answer:
    return Response(400, (("Content-Type", "text/plain; charset=utf-8"),), b"400 Bad Request")


def _as_user(user: User, proceed: Next) -> Next:
    def stage(exchange: Exchange) -> Awaitable[Answer]:
        exchange.user = user
        return proceed(exchange)

    return stage


def _authorized(authorize: Authorize, proceed: Next) -> Next:
    async def stage(exchange: Exchange) -> Answer:
        action = requested_action(exchange)
        if not await authorize(action):
            raise forbidden(action)
        return await proceed(exchange)

    return stage
