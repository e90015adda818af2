"""Against clients that keep a connection busy with frames that carry nothing.

A request that is begun and taken back at once costs the server a task and the client nothing (rapid
reset, CVE-2023-44487); so do pings and settings, which must be answered, and empty frames. Each
kind has a budget that grows with time, and for what may well follow our own frames with those.
"""

from __future__ import annotations

from collections.abc import Callable

_RESETS_BURST = 500
_RESETS_PER_S = 50.0
_CONTROL_BURST = 1_000
_CONTROL_PER_S = 100.0
_CONTROL_PER_FRAME = 3.0  # a client may credit stream and connection after each frame


class _Budget:
    """``burst`` at once, then ``rate`` per second."""

    __slots__ = ("_burst", "_counted_at", "_left", "_rate")

    def __init__(self, burst: int, rate: float, now: float) -> None:
        self._burst = float(burst)
        self._rate = rate
        self._left = self._burst
        self._counted_at = now

    def spend(self, now: Callable[[], float]) -> bool:
        """False: there is none left."""
        self._left -= 1
        if self._left >= 0:
            return True
        at = now()
        self._left += (at - self._counted_at) * self._rate
        self._left = min(self._burst, self._left)
        self._counted_at = at
        return self._left >= 0

    def earn(self, amount: float) -> None:
        self._left = min(self._burst, self._left + amount)


class FloodGuard:
    """Of one connection. Each method says whether the client may go on."""

    __slots__ = ("_control", "_now", "_resets")

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._resets = _Budget(_RESETS_BURST, _RESETS_PER_S, now())
        self._control = _Budget(_CONTROL_BURST, _CONTROL_PER_S, now())

    def reset(self) -> bool:
        """A request that was taken back, refused, or malformed."""
        return self._resets.spend(self._now)

    def control(self) -> bool:
        """A frame that carries nothing of a request."""
        return self._control.spend(self._now)

    def sent(self, count: int) -> None:
        """Frames of ours, which may have answers."""
        self._control.earn(count * _CONTROL_PER_FRAME)
