"""Log levels of repeated failures: a warning for the first, and one every 30 s after it.

A server that is down fails every request of a program, for minutes. A line for each would bury
the first one; no further line at all would look like recovery.
"""

from __future__ import annotations

import logging

from proreus.aio.clock import Clock

REMIND_EVERY_S = 30.0


class FailureReminder:
    """Pure bookkeeping; the caller logs at the level it is given."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._began_at: float | None = None
        self._warned_at = 0.0

    @property
    def lasted_s(self) -> float:
        """Since the first failure of the row; 0 if the last try succeeded."""
        return 0.0 if self._began_at is None else self._clock.monotonic() - self._began_at

    def failed(self) -> int:
        """Another failure: the logging level for it."""
        now = self._clock.monotonic()
        if self._began_at is None:
            self._began_at = now
        elif now - self._warned_at < REMIND_EVERY_S:
            return logging.DEBUG
        self._warned_at = now
        return logging.WARNING

    def ended(self) -> bool:
        """A success; True if it ended a row of failures."""
        was_failing, self._began_at = self._began_at is not None, None
        return was_failing
