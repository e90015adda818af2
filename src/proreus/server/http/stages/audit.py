"""Requests are recorded as the audit policy asks; without a policy this stage is not in the list.

Behind authentication, since rules name users, and before anything is decided about the request, so
that refusals are recorded too. A request that cannot be authenticated does not come here, and is
recorded by ``record_unauthenticated``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from functools import partial

from proreus.api.status import Timeout, Unauthorized
from proreus.net.http1.messages import Answer
from proreus.server.audit.auditor import Auditor
from proreus.server.audit.event import AuditedRequest, AuditEvent
from proreus.server.audit.policy import Stage
from proreus.server.http import errors
from proreus.server.http.exchange import Exchange
from proreus.server.http.stages.stage import Next
from proreus.server.registry.user import User

_CLOSED_EARLY = {"status": "Success", "message": "Connection closed early", "code": 200}


def audit(auditor: Auditor, proceed: Next) -> Next:
    def stage(exchange: Exchange) -> Awaitable[Answer]:
        event = auditor.begin(_described(exchange, exchange.user))
        if event is None:
            return proceed(exchange)
        return waited_for(exchange, event) if auditor.blocks else recorded(exchange, event)

    async def waited_for(exchange: Exchange, event: AuditEvent) -> Answer:
        """A back end blocks: the answer is given when the events are recorded."""
        try:
            answer = await recorded(exchange, event)
        except Exception:
            await auditor.wait_recorded()
            raise
        await auditor.wait_recorded()
        return answer

    async def recorded(exchange: Exchange, event: AuditEvent) -> Answer:
        exchange.audit = event
        if auditor.blocks:
            await auditor.record_first(event)
        else:
            auditor.record(event, Stage.REQUEST_RECEIVED)
        if exchange.is_long_running:
            exchange.request.on_started = partial(start, event)
        last = Stage.RESPONSE_COMPLETE
        try:
            answer = await proceed(exchange)
        except ConnectionError:
            raise  # the client is gone, and no answer was given
        except (TimeoutError, asyncio.CancelledError):
            if exchange.request.is_connected and not event.has_started:
                late = Timeout("Timeout: request did not complete within the allotted timeout")
                event.set_status_answer(late.status)
            raise
        except Exception as error:
            failure = errors.to_api_error(exchange, error)
            event.set_status_answer(failure.status)
            if isinstance(failure, errors.Unexpected):
                last = Stage.PANIC
                text = f"APIServer panic'd: {type(error).__name__}"  # its text may hold a secret
                event.set_response_status({**failure.status, "message": text, "details": None})
            raise failure from error
        else:
            if not event.has_started:
                event.set_response_code(answer.status)
            return answer
        finally:
            if not event.has_status:
                event.set_response_status(_CLOSED_EARLY)
            if exchange.is_long_running and not event.has_started:
                auditor.record(event, Stage.RESPONSE_STARTED)
            auditor.record(event, last)

    def start(event: AuditEvent, code: int) -> None:
        event.has_started = True
        event.set_response_code(code)
        auditor.record(event, Stage.RESPONSE_STARTED)

    return stage


def record_unauthenticated(auditor: Auditor, exchange: Exchange, error: Unauthorized) -> None:
    """As kube-apiserver does, at one stage only and as nobody's."""
    event = auditor.begin(_described(exchange, None))
    if event is not None:
        event.set_status_answer(error.status)
        auditor.record(event, Stage.RESPONSE_STARTED)


def _described(exchange: Exchange, user: User | None) -> AuditedRequest:
    request = exchange.request
    query = request.raw_query
    uri = f"{request.raw_path_only}?{query}" if query else request.raw_path_only
    return AuditedRequest(
        exchange.audit_id,
        user,
        exchange.verb,
        exchange.target,
        exchange.path,
        uri,
        exchange.headers,
        request.peer_address,
    )
