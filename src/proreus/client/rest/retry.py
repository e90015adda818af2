"""Whether to send a request again, and when (client.md §1.2). Pure: it decides, the client acts.

A server that wants a request again says so with 429 or 5xx and ``Retry-After`` in seconds; then any
verb is repeated, because the server did not do it. A broken connection is different: the request
may have been done, so only reads are repeated.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto
from typing import TYPE_CHECKING

from proreus.client.rest.failure import retry_after_s
from proreus.net.client.transport_error import ConnectionLost, TransportError, TransportTimeout

if TYPE_CHECKING:
    from proreus.net.client.http_client import Headers

RETRIES_MAX = 10
_BROKEN_CONNECTION_WAIT_S = 1.0


class Mode(Enum):
    """What kind of exchange it is."""

    UNARY = auto()
    WATCH = auto()
    STREAM = auto()  # logs and the like: never repeated after a broken connection


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """``retries_max`` repetitions after the first attempt; 0: none."""

    retries_max: int = RETRIES_MAX

    def after_answer(self, status: int, headers: Headers, *, tried: int) -> float | None:
        """Seconds to wait before the next attempt; None: take the answer as it is."""
        if tried > self.retries_max or not (status == 429 or status >= 500):
            return None
        wait_s = retry_after_s(headers)
        return None if wait_s is None else float(wait_s)

    def after_error(
        self, error: TransportError, *, method: str, mode: Mode, tried: int
    ) -> float | None:
        """Seconds to wait before the next attempt; None: raise the error."""
        if tried > self.retries_max or not is_retryable(error, method=method, mode=mode):
            return None
        return _BROKEN_CONNECTION_WAIT_S


def is_retryable(error: TransportError, *, method: str, mode: Mode) -> bool:
    """Whether a broken exchange may be repeated without harm."""
    match mode:
        case Mode.UNARY:
            return method == "GET" and isinstance(error, ConnectionLost)
        case Mode.WATCH:
            return isinstance(error, (ConnectionLost, TransportTimeout))
        case Mode.STREAM:
            return False
