"""A delay that grows with each failure, is jittered and capped, and starts over after quiet.

Pure: it hands out numbers, the caller sleeps. client-go resets on a fixed schedule even while an
outage lasts; here only a stretch of health without a call to ``next`` resets (client.md §5.1).
"""

from __future__ import annotations

import random
from dataclasses import field

from proreus.aio.clock import Clock
from proreus.lazy_dataclass import dataclass


@dataclass(slots=True)
class Backoff:
    """``next()`` is uniform in [d, d·(1 + jitter)), d growing from ``initial_s`` to ``cap_s``."""

    clock: Clock
    initial_s: float = 0.8
    factor: float = 2.0
    cap_s: float = 30.0
    jitter: float = 1.0
    reset_after_s: float = 120.0
    random: random.Random = field(default_factory=random.Random)
    _delay_s: float = field(default=0.0, init=False)
    _healthy_from: float = field(default=float("-inf"), init=False)

    def next(self) -> float:
        now = self.clock.monotonic()
        if not self._delay_s or now - self._healthy_from >= self.reset_after_s:
            self._delay_s = self.initial_s
        else:
            self._delay_s = min(self._delay_s * self.factor, self.cap_s)
        delay_s = self._delay_s * (1 + self.random.random() * self.jitter)
        # Health begins when the caller is back from its sleep, not when it asked.
        self._healthy_from = now + delay_s
        return delay_s

    def reset(self) -> None:
        self._delay_s = 0.0
