"""Every request has an id, the client's or one of ours, which its answer and log lines carry."""

from __future__ import annotations

import itertools
from collections.abc import Awaitable, Iterator
from uuid import uuid4

from proreus.net.http1.messages import Answer
from proreus.server.http.exchange import Exchange
from proreus.server.http.stages.stage import Next


def set_audit_id(ids: Iterator[str], proceed: Next) -> Next:
    def stage(exchange: Exchange) -> Awaitable[Answer]:
        exchange.audit_id = exchange.headers.get("Audit-Id") or next(ids)
        return proceed(exchange)

    return stage


def audit_ids() -> Iterator[str]:
    """UUIDs of one server, random but for their last digits, which count.

    They only tell requests apart, so they need not be unguessable.
    """
    start, _, last = str(uuid4()).rpartition("-")
    # The first of the last twelve digits begins at 0, so that there are never more of them.
    return map(f"{start}-{{:012x}}".format, itertools.count(int(last[1:], 16)))
