"""What a request passes before its handler, seen from outside: the order of the stages."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import cast

from proreus.api.status import Expired
from proreus.net.http1.messages import Answer, Request, Response
from proreus.server.app import ApiServer
from proreus.server.config import ServerConfig
from proreus.server.fairness.queues import Queuing
from proreus.server.http.exchange import Exchange
from proreus.server.http.stages.errors import answer_errors
from proreus.server.http.stages.stage import Next
from proreus.server.registry.user import AUTHENTICATED, User
from tests.unit.server.registry.server_under_test import Asked, Asking


def with_header(proceed: Next) -> Next:
    """A stage that acts after those behind it."""

    async def stage(exchange: Exchange) -> Answer:
        answer = await proceed(exchange)
        assert isinstance(answer, Response)
        return answer._replace(headers=(*answer.headers, ("Seen", str(answer.status))))

    return stage


async def test_a_stage_sees_the_answer_of_those_behind_it_whatever_they_raise() -> None:
    def refuse(exchange: Exchange) -> Awaitable[Answer]:
        raise Expired("not here")

    chain = with_header(answer_errors(refuse))

    answer = await chain(Exchange(cast(Request, Asked("GET", "/", {}, b""))))

    assert isinstance(answer, Response)
    assert ("Seen", "410") in answer.headers


async def test_who_asks_is_known_before_anybody_waits_for_a_seat() -> None:
    tokens = {"alice-token": User("alice", (AUTHENTICATED,))}
    async with ApiServer(ServerConfig(tokens=tokens)) as server:
        ask, seats = Asking(server), server.parts.fairness.levels["global-default"].seats
        seats.configure(Queuing())
        seats.resize(0)

        known = await ask("GET", "configmaps", token="alice-token")
        unknown = await ask("GET", "configmaps", token="wrong")

    assert (known.status, unknown.status) == (429, 401)


async def test_a_refused_request_has_an_id_and_is_counted(ask: Asking) -> None:
    refused = await ask("GET", "configmaps", token="wrong")

    counted = [
        sample.value
        for family in ask.server.metrics.collect()
        for sample in family.samples
        if sample.name == "apiserver_request_total" and sample.labels["code"] == "401"
    ]
    assert refused.headers["Audit-Id"]
    assert counted == [1]


async def test_a_server_that_ends_refuses_before_it_looks_at_credentials(ask: Asking) -> None:
    ask.server.begin_shutdown()

    assert (await ask("GET", "configmaps", token="wrong")).status == 503
    assert (await ask("GET", "/livez")).status == 200
