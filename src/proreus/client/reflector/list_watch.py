"""Where a reflector gets lists and watches: the only thing an informer knows of the network.

Receives: requests of ``reflector``.  Hands on: ObjectList and WatchEvent, to ``reflector``.
One selection (resource, namespace, selectors) per ListWatch, so that what is listed and what is
watched are filtered identically; otherwise a relist would report deletions that never happened.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from proreus.api.object_list import ObjectList
from proreus.api.wire.framing import WatchEvent
from proreus.client.rest.calls import ListCall, WatchCall


class ListWatch(Protocol):
    """Both verbs raise ``ApiError`` for an answer that is a failure and ``TransportError`` where
    there was no answer; a watch that simply ends raises nothing."""

    async def list(self, asked: ListCall) -> ObjectList:
        """One page."""
        ...

    def watch(self, asked: WatchCall) -> AbstractAsyncContextManager[AsyncIterator[WatchEvent]]:
        """One stream, without any reconnecting; leaving the context closes it."""
        ...
