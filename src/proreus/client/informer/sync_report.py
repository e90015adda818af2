"""Says why informers have not synced while a program waits for them.

A program that waits for its caches and says nothing looks as if it had hung: because nobody started
an informer, because the server cannot be reached, or because the collection is large.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable

from proreus.aio.clock import Clock, Timer
from proreus.client.informer.informer import SharedInformer

log = logging.getLogger(__name__)

FIRST_S = 1.0  # enough for an informer to be started, and for a refused connection to be noticed
LISTING_S = 5.0  # a list that is on its way may take longer
EVERY_S = 30.0


class SyncReport:
    """A context manager around the wait of ``waiting`` (a name) for ``informers``."""

    def __init__(self, waiting: str, informers: Iterable[SharedInformer], clock: Clock) -> None:
        self._waiting = waiting
        self._informers = list(informers)
        self._clock = clock
        self._began_at = 0.0
        self._timer: Timer | None = None

    def __enter__(self) -> None:
        self._began_at = self._clock.monotonic()
        self._timer = self._clock.call_later(FIRST_S, self._look)

    def __exit__(self, *exc: object) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def _look(self) -> None:
        waited_s = self._clock.monotonic() - self._began_at
        lacking = [informer for informer in self._informers if not informer.has_synced]
        has_news = any(not one.is_running or one.status().last_failure for one in lacking)
        if has_news or (lacking and waited_s >= LISTING_S):
            log.warning(
                "not synced after %.0f s: waiting=%s %s",
                waited_s, self._waiting, "; ".join(map(_reason, lacking)),
            )  # fmt: skip
            again_s = EVERY_S
        else:
            again_s = LISTING_S - FIRST_S if waited_s < LISTING_S else EVERY_S
        self._timer = self._clock.call_later(again_s, self._look)


def _reason(informer: SharedInformer) -> str:
    status = informer.status()
    if status.phase == "not started":
        return f"{status.name}: its informer was not started, call start() of its factory"
    return f"{status.name}: {status.last_failure or status.phase}"
