"""Whether the user may do what the request asks for, as the server's authorizers decide."""

from __future__ import annotations

from collections.abc import Awaitable

from proreus.api.go_text import quoted
from proreus.api.selectors import FieldSelector
from proreus.api.values.names import path_segment
from proreus.api.wire.path import ApiPath
from proreus.api.wire.query import first
from proreus.net.http1.messages import Answer
from proreus.server.authz.authorizer import (
    Action,
    Authorization,
    Decision,
    PossibleVerdict,
    Verdict,
    escaped,
    forbidden,
)
from proreus.server.histogram import BucketCounts
from proreus.server.http.exchange import Exchange
from proreus.server.http.stage_times import StageTimes
from proreus.server.http.stages.stage import Next

_BY_NAME = frozenset({"list", "watch"})
_BY_SELECTOR = frozenset({"list", "watch", "deletecollection"})
_FAILED = "internal error"


def authorize(authorization: Authorization, times: StageTimes, proceed: Next) -> Next:
    decide = authorization.decide

    def stage(exchange: Exchange) -> Awaitable[Answer]:
        action = requested_action(exchange)
        verdict = decide(action)
        if exchange.audit is not None or not isinstance(verdict, Verdict):
            return follow(exchange, action, verdict)
        if verdict.decision is not Decision.ALLOW:
            return follow(exchange, action, verdict)
        times.passed(times.allowed, exchange)
        return proceed(exchange)

    async def follow(exchange: Exchange, action: Action, possible: PossibleVerdict) -> Answer:
        """A verdict that must be awaited, recorded or reported."""
        verdict = possible if isinstance(possible, Verdict) else await possible
        is_allowed = verdict.decision is Decision.ALLOW
        times.passed(_result(times, verdict), exchange)
        if verdict.error and not is_allowed:
            return failure(exchange, verdict.error)
        if exchange.audit is not None:
            exchange.audit.set_decision(is_allowed=is_allowed, reason=verdict.reason)
        if not is_allowed:
            raise forbidden(action, verdict.reason)
        return await proceed(exchange)

    return stage


def _result(times: StageTimes, verdict: Verdict) -> BucketCounts:
    match verdict.decision:
        case Decision.ALLOW:
            return times.allowed
        case _ if verdict.error:
            return times.failed
        case Decision.DENY:
            return times.denied
        case Decision.NO_OPINION:
            return times.no_opinion


def failure(exchange: Exchange, why: str) -> Answer:
    """An authorizer could not decide, and none allowed the request."""
    if exchange.audit is not None:
        exchange.audit.set_decision_failure(_FAILED)
    uri = exchange.request.raw_path_only
    if exchange.request.raw_query:
        uri += f"?{exchange.request.raw_query}"
    return exchange.text(500, escaped(f"Internal Server Error: {quoted(uri)}: {why}") + "\n")


def requested_action(exchange: Exchange) -> Action:
    target = exchange.info.target
    if not isinstance(target, ApiPath):
        return Action(user=exchange.user, verb=exchange.verb, path=exchange.path)
    name, fields, labels = exchange.name, "", ""
    if not name and "Selector" in exchange.request.raw_query:
        name = _selected_name(exchange)
        if exchange.verb in _BY_SELECTOR and not target.watch:
            fields = first(exchange.query, "fieldSelector")
            labels = first(exchange.query, "labelSelector")
    return Action(
        user=exchange.user,
        verb=exchange.verb,
        group=target.group,
        version=target.version,
        resource=target.resource,
        subresource=target.subresource,
        namespace=target.namespace,
        name=name,
        field_selector=fields,
        label_selector=labels,
    )


def _selected_name(exchange: Exchange) -> str:
    """The one object that a list or watch selects, so that rules by name hold for it too."""
    if exchange.verb not in _BY_NAME:
        return ""
    try:
        selector = FieldSelector.parse(first(exchange.query, "fieldSelector"))
    except ValueError:
        return ""  # the handler refuses it
    name = selector.pinned("metadata.name") or ""
    return "" if path_segment(name) else name
