"""Whether the code that runs now may write: a leader's workload may, while the lease is its own.

``LeaderElector`` runs its workload inside a fence, which tasks started by the workload inherit (a
context variable). Before a client hands a write to its connection it asks ``may_write``; a write
that is refused raises ``NotPermitted`` and is not sent. So a leader that lost its lease, or whose
process was frozen for longer than the lease lasts, changes nothing any more, whichever client it
uses. Reads always pass.
"""

from __future__ import annotations

import contextvars
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class Fence:
    """Open while ``permit`` says so, until it is closed for good.

    A fence made inside another one is open only while both are.
    """

    def __init__(self, permit: Callable[[], bool]) -> None:
        self._permit = permit
        self._outer = current_fence()
        self._is_closed = False
        self._on_close: list[Callable[[], None]] = []

    @property
    def is_open(self) -> bool:
        if self._is_closed or not self._permit():
            return False
        return self._outer is None or self._outer.is_open

    def close(self) -> None:
        """Idempotent."""
        self._is_closed = True
        waiting, self._on_close = self._on_close, []
        for callback in waiting:
            callback()

    @contextmanager
    def when_closed(self, callback: Callable[[], None]) -> Iterator[None]:
        """Call ``callback`` if this fence is closed while the body runs."""
        self._on_close.append(callback)
        try:
            yield
        finally:
            if callback in self._on_close:
                self._on_close.remove(callback)

    @contextmanager
    def around(self) -> Iterator[None]:
        """Run the body, and the tasks that it starts, inside this fence."""
        token = _current.set(self)
        try:
            yield
        finally:
            _current.reset(token)


_current: contextvars.ContextVar[Fence | None] = contextvars.ContextVar("fence", default=None)


def current_fence() -> Fence | None:
    """The innermost fence around the running code."""
    return _current.get()


def may_write() -> bool:
    """Outside of any fence everything is allowed."""
    fence = _current.get()
    return fence is None or fence.is_open
