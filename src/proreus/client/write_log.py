"""Who wants to know of the writes that the running code makes: a controller, for one of its keys.

Caches are behind what was just written. ``Controller`` runs each reconcile inside ``observed_by``,
which tasks started there inherit (a context variable); every client reports its writes to the
observer, so that no reconcile has to, and none can forget it (``controller.own_writes``).
"""

from __future__ import annotations

import contextvars
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


class observed_by:  # read as a statement: with observed_by(writes)
    """Report the writes of the body, and of the tasks that it starts."""

    __slots__ = ("_observer", "_token")

    def __init__(self, observer: WriteObserver) -> None:
        self._observer = observer

    def __enter__(self) -> None:
        self._token = _observer.set(self._observer)

    def __exit__(self, *exc: object) -> None:
        _observer.reset(self._token)
