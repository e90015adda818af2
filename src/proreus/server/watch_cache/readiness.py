"""Whether a cache can answer, and the error if not (server.md §4.2).

Pending ⇄ Ready → Stopped;  each Pending → Ready begins a new generation
"""

from __future__ import annotations

import math
from typing import assert_never

from proreus.aio.clock import Clock
from proreus.aio.gate import Gate
from proreus.api.status import TooManyRequests
from proreus.lazy_dataclass import dataclass

_RETRY_AFTER_MAX_S = 30


@dataclass(frozen=True, slots=True)
class Pending:
    since_s: float
    error: str = ""


@dataclass(frozen=True, slots=True)
class Ready:
    pass


@dataclass(frozen=True, slots=True)
class Stopped:
    since_s: float


class Readiness:
    """``generation`` counts initialisations: what was seen under another one is void. ``is_ready``
    is plain since a write looks at it several times."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._gate = Gate()
        self.generation = 0
        self._enter(Pending(clock.monotonic()))

    @property
    def is_stopped(self) -> bool:
        return isinstance(self._state, Stopped)

    def set_ready(self) -> None:
        self.generation += 1
        self._enter(Ready())

    def set_pending(self, error: str = "") -> None:
        """``error`` says why; the time of not being ready counts from the first call."""
        match self._state:
            case Pending(since_s=since_s):
                self._enter(Pending(since_s, error))
            case Ready():
                self._enter(Pending(self._clock.monotonic(), error))
            case Stopped():
                pass
            case other:
                assert_never(other)

    def set_stopped(self) -> None:
        self._enter(Stopped(self._clock.monotonic()))

    def _enter(self, state: Pending | Ready | Stopped) -> None:
        self._state = state
        self.is_ready = isinstance(state, Ready)
        if self.is_ready:
            self._gate.open()
        else:
            self._gate.shut()

    async def wait_ready(self) -> None:
        await self._gate.wait_open()

    def check(self) -> None:
        """Raises TooManyRequests if not ready, asking for longer pauses the longer it lasts."""
        match self._state:
            case Ready():
                return
            case Pending(since_s=since_s, error=error):
                text = "storage is (re)initializing" + (f": {error}" if error else "")
            case Stopped(since_s=since_s):
                text = "apiserver cacher is stopped"
            case other:
                assert_never(other)
        raise TooManyRequests.of(text, retry_after_s(self._clock.monotonic() - since_s))

    def __repr__(self) -> str:
        return f"<Readiness: {type(self._state).__name__.lower()}, generation {self.generation}>"


def retry_after_s(down_s: float) -> int:
    if down_s > 60:  # e^(0.06 t) is past the limit, and later past any float
        return _RETRY_AFTER_MAX_S
    return max(1, min(_RETRY_AFTER_MAX_S, int(math.exp(0.06 * down_s))))
