"""Every answer is counted with the time it took, whatever it is; slow requests are logged."""

from __future__ import annotations

from collections.abc import AsyncIterator

import structlog

from proreus.aio.clock import Clock
from proreus.net.http1.messages import Answer, Chunks, Pieces, Response
from proreus.server.histogram import BucketCounts
from proreus.server.http.exchange import Exchange
from proreus.server.http.metrics import RequestMetrics
from proreus.server.http.stages.stage import Next

_log = structlog.get_logger(__name__)
_SLOW_S = 1.0


def measure(metrics: RequestMetrics, clock: Clock, proceed: Next) -> Next:
    now = clock.monotonic

    async def stage(exchange: Exchange) -> Answer:
        exchange.passed_at = begun = now()
        if exchange.is_long_running:
            with metrics.running(exchange):
                answer = await proceed(exchange)
        else:
            answer = await proceed(exchange)
        took_s = now() - begun
        body = answer.body if isinstance(answer, Response) else b""
        if isinstance(body, bytes):
            metrics.observe(exchange, answer.status, took_s, len(body))
        elif isinstance(body, Pieces):
            metrics.observe(exchange, answer.status, took_s, body.size)
        else:
            sizes = metrics.observe(exchange, answer.status, took_s, -1)
            assert isinstance(answer, Response), "only it has chunks"
            answer = answer._replace(body=Chunks(_counted(body.pieces, sizes)))
        if exchange.body_bytes >= 0 and not exchange.is_long_running:
            metrics.observe_body(exchange, exchange.body_bytes)
        if took_s > _SLOW_S and not exchange.is_long_running:
            _log.warning(
                "slow request",
                method=exchange.method,
                path=exchange.path,
                code=answer.status,
                seconds=round(took_s, 3),
                user=exchange.user.name,
                audit_id=exchange.audit_id,
            )
        return answer

    return stage


async def _counted(pieces: AsyncIterator[bytes], sizes: BucketCounts) -> AsyncIterator[bytes]:
    size = 0
    async for piece in pieces:
        size += len(piece)
        yield piece
    sizes.add(size)
