"""Who wants to know of the writes that the running code makes: a controller, for one of its keys.

Caches are behind what was just written. ``Controller`` runs each reconcile inside ``observed_by``,
which tasks started there inherit (a context variable); every client reports its writes to the
observer, so that no reconcile has to, and none can forget it (``controller.own_writes``).
"""

from __future__ import annotations

import contextvars
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from proreus.api.group_version import GroupResource
from proreus.api.object import KubeObject


class WriteObserver(Protocol):
    """What it is called for has happened already; it must not raise."""

    def wrote(self, resource: GroupResource, written: KubeObject, verb: str) -> None:
        """``written`` is the new state, ``verb`` Kubernetes' word for what was asked."""
        ...

    def deleted(self, resource: GroupResource, key: str, uid: str) -> None:
        """The object is gone, or will be."""
        ...

    def lost(self, resource: GroupResource) -> None:
        """A write was answered in a way that leaves open what is stored."""
        ...


_observer: contextvars.ContextVar[WriteObserver | None] = contextvars.ContextVar(
    "write observer", default=None
)


def current_observer() -> WriteObserver | None:
    return _observer.get()


@contextmanager
def observed_by(observer: WriteObserver) -> Iterator[None]:
    """Report the writes of the body, and of the tasks that it starts."""
    token = _observer.set(observer)
    try:
        yield
    finally:
        _observer.reset(token)
