"""Whether the disk keeps up: how long it has not finished a commit that writers wait for.

One timer at most, armed by the first commit and looked at when it is due: a commit costs an
assignment.
"""

from __future__ import annotations

from collections.abc import Callable

from proreus.aio.clock import Clock, Timer

SLOW_S = 2.0  # as long as kube-apiserver waits for etcd in its health checks
_CALM_S = 10.0  # slow commits one after the other are one event


class CommitWatch:
    """``slow(seconds)`` is called while a commit takes too long, ``quick()`` when none did for a
    while."""

    def __init__(
        self, clock: Clock, slow: Callable[[float], None], quick: Callable[[], None]
    ) -> None:
        self._clock = clock
        self._slow = slow
        self._quick = quick
        self._since: float | None = None  # the last sign of the disk, while writers wait for one
        self._slow_at: float | None = None
        self._timer: Timer | None = None

    def handed_over(self) -> None:
        """Something is to be committed."""
        if self._since is None:
            self._since = self._clock.monotonic()
            if self._timer is None:
                self._arm(SLOW_S)

    def ended(self, *, is_more: bool) -> None:
        """Something was committed or refused; ``is_more``: writers still wait."""
        self._since = self._clock.monotonic() if is_more else None

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def _check(self) -> None:
        self._timer = None
        now = self._clock.monotonic()
        waited_s = now - self._since if self._since is not None else 0.0
        if waited_s >= SLOW_S:
            self._slow_at = now
            self._slow(waited_s)
            self._arm(SLOW_S)
        elif self._since is not None:
            self._arm(SLOW_S - waited_s)
        elif self._slow_at is not None:
            if now - self._slow_at >= _CALM_S:
                self._slow_at = None
                self._quick()
            else:
                self._arm(SLOW_S)

    def _arm(self, delay_s: float) -> None:
        self._timer = self._clock.call_later(delay_s, self._check)

    def __repr__(self) -> str:
        waits = f"waits since {self._since}" if self._since is not None else "nothing waits"
        return f"<CommitWatch: {waits}>"
