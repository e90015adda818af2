"""A server that shuts down refuses new requests, so that clients go elsewhere (server.md §5.6)."""

from __future__ import annotations

from collections.abc import Awaitable

from proreus.api.status import ServiceUnavailable
from proreus.lazy_dataclass import dataclass
from proreus.net.http1.messages import Answer
from proreus.server.http.exchange import Exchange
from proreus.server.http.stages.stage import Next

# Operators follow a shutdown through these.
_STILL_SERVED = frozenset({"/healthz", "/livez", "/readyz", "/metrics"})


@dataclass(slots=True)
class Shutdown:
    """``has_begun`` is set once, for good."""

    has_begun: bool = False


def refuse_when_ending(shutdown: Shutdown, proceed: Next) -> Next:
    def stage(exchange: Exchange) -> Awaitable[Answer]:
        if shutdown.has_begun and exchange.path not in _STILL_SERVED:
            raise ServiceUnavailable("apiserver is shutting down", details={"retryAfterSeconds": 1})
        return proceed(exchange)

    return stage
