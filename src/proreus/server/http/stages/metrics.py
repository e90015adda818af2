"""Every answer is counted with the time it took, whatever it is; slow requests are logged."""

from __future__ import annotations

import structlog

from proreus.aio.clock import Clock
from proreus.net.http1.messages import Answer
from proreus.server.http.exchange import Exchange
from proreus.server.http.metrics import RequestMetrics
from proreus.server.http.stages.stage import Next

_log = structlog.get_logger(__name__)
_SLOW_S = 1.0


def measure(metrics: RequestMetrics, clock: Clock, proceed: Next) -> Next:
    async def stage(exchange: Exchange) -> Answer:
        begun = clock.monotonic()
        if exchange.is_long_running:
            with metrics.running(exchange):
                answer = await proceed(exchange)
        else:
            answer = await proceed(exchange)
        took_s = clock.monotonic() - begun
        metrics.observe(exchange, answer.status, took_s)
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
