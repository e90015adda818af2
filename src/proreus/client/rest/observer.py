"""What the REST layer reports of each request; ``metrics`` counts it for Prometheus."""

from __future__ import annotations

from typing import Protocol


class Observer(Protocol):
    """Called on the loop, for every attempt; must not block."""

    def request_done(self, *, verb: str, method: str, code: str, duration_s: float) -> None:
        """``code`` is the HTTP status, or ``<error>`` if there was no answer."""
        ...

    def throttled(self, delay_s: float) -> None:
        """A request waited so long for the client's own rate limit; 0 if it did not."""
        ...


class _NoObserver:
    def request_done(self, *, verb: str, method: str, code: str, duration_s: float) -> None:
        """Does nothing."""

    def throttled(self, delay_s: float) -> None:
        """Does nothing."""


NO_OBSERVER: Observer = _NoObserver()
