"""Back-off for pods that fail as soon as they start, as on a node that rejects them.

Memory: one entry per node on which a DaemonSet's pod failed, until it has been quiet.
"""

from __future__ import annotations

_FIRST_S, _MAX_S = 1.0, 900.0


class FailedPodBackoff:
    """When a failed pod may be replaced, by key."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[float, float]] = {}  # delay, and since when

    def wait_s(self, key: str, now: float) -> float:
        """0: now, and the next time later."""
        self._forget_old(now)
        delay_s, since = self._known.get(key, (0.0, now))
        left_s = since + delay_s - now
        if left_s > 0:
            return left_s
        self._known[key] = (min(delay_s * 2 or _FIRST_S, _MAX_S), now)
        return 0.0

    def _forget_old(self, now: float) -> None:
        quiet = [key for key, (_, since) in self._known.items() if now - since > 2 * _MAX_S]
        for key in quiet:
            del self._known[key]
