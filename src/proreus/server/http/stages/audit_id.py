"""Every request has an id, the client's or one of ours, which its answer and log lines carry."""

from __future__ import annotations

import itertools
from collections.abc import Awaitable
from uuid import uuid4

from proreus.net.http1.messages import Answer
from proreus.server.http.exchange import Exchange
from proreus.server.http.stages.stage import Next


def set_audit_id(ids: AuditIds, proceed: Next) -> Next:
    def stage(exchange: Exchange) -> Awaitable[Answer]:
        exchange.audit_id = exchange.headers.get("Audit-Id") or ids.next()
        return proceed(exchange)

    return stage


class AuditIds:
    """UUIDs of one server, random but for their last digits, which count.

    They only tell requests apart, so they need not be unguessable.
    """

    def __init__(self) -> None:
        self._start, _, last = str(uuid4()).rpartition("-")
        self._numbers = itertools.count(int(last, 16))

    def next(self) -> str:
        return f"{self._start}-{next(self._numbers) & 0xFFFFFFFFFFFF:012x}"
