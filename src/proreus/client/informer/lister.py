"""Read-only view of an informer's cache, for business code; reads work from any thread.

Receives: nothing; reads ``indexer``.  Hands on: KubeObjects, which cannot be changed.
Before the informer has synced the answers are incomplete, without an error.
Cost: get 0.3 µs, by_index 0.4 µs plus 5 ns per object found.
"""

from __future__ import annotations

import builtins
from collections.abc import Awaitable
from typing import Generic, overload

from proreus.aio.clock import Clock, deadline
from proreus.aio.gate import Waterline
from proreus.api.group_version import GroupResource
from proreus.api.object_type import Object
from proreus.api.selectors.labels import LabelSelector
from proreus.api.status import NotFound, Timeout
from proreus.client.informer.indexer import NAMESPACE_INDEX, Indexer


class Lister(Generic[Object]):
    """``pods.get("web", "default")``, ``pods.list(namespace="default", label_selector="app=web")``.

    Every read is of one moment. ``at_least`` makes a read wait until the cache has seen a
    resource version, for example the one that an own write returned.
    """

    def __init__(
        self, indexer: Indexer[Object], applied: Waterline, resource: GroupResource, *, clock: Clock
    ) -> None:
        self._indexer = indexer
        self._applied = applied
        self._resource = resource
        self._clock = clock

    @overload
    def get(self, name: str, namespace: str = "") -> Object: ...
    @overload
    def get(
        self, name: str, namespace: str = "", *, at_least: int | str, timeout_s: float = 30.0
    ) -> Awaitable[Object]: ...
    def get(
        self,
        name: str,
        namespace: str = "",
        *,
        at_least: int | str | None = None,
        timeout_s: float = 30.0,
    ) -> Object | Awaitable[Object]:
        """The object, or raise NotFound. ``name`` may be a whole key (``default/web``). With
        ``at_least`` the answer must be awaited."""
        key = f"{namespace}/{name}" if namespace else name
        if at_least is not None:
            return self._get_at_least(key, at_least, timeout_s)
        found = self._indexer.get(key)
        if found is None:
            raise NotFound.of(self._resource, key.rpartition("/")[2])
        return found

    def find(self, name: str, namespace: str = "") -> Object | None:
        """The object, or None."""
        return self._indexer.get(f"{namespace}/{name}" if namespace else name)

    def list(
        self, *, namespace: str = "", label_selector: LabelSelector | str = ""
    ) -> builtins.list[Object]:
        """All objects, those of a namespace, those with certain labels; in no order."""
        found = (
            self._indexer.by_index(NAMESPACE_INDEX, namespace)
            if namespace
            else self._indexer.objects()
        )
        if not label_selector:
            return found
        selector = (
            LabelSelector.parse(label_selector)
            if isinstance(label_selector, str)
            else label_selector
        )
        if selector.is_empty:
            return found
        return [obj for obj in found if selector.matches(obj.labels)]

    def by_index(self, index: str, value: str) -> builtins.list[Object]:
        """The objects under one value of a named index. Raises UnknownIndex."""
        return self._indexer.by_index(index, value)

    async def wait_for_version(
        self, resource_version: int | str, *, timeout_s: float = 30.0
    ) -> None:
        """Wait until the cache has seen ``resource_version``. Raises ``Timeout``.

        Versions are compared as the integers that Kubernetes makes them; one that is none is not
        waited for, because nothing can be known about it.
        """
        text = str(resource_version)
        if not text.isascii() or not text.isdecimal():
            return
        try:
            async with deadline(self._clock, timeout_s):
                await self._applied.wait_for(int(text))
        except TimeoutError as late:
            raise Timeout(
                f"the cache of {self._resource} has not reached resource version {text} "
                f"within {timeout_s:g} s, it is at {self._applied.level}"
            ) from late

    async def _get_at_least(self, key: str, version: int | str, timeout_s: float) -> Object:
        await self.wait_for_version(version, timeout_s=timeout_s)
        return self.get(key)

    def __len__(self) -> int:
        return len(self._indexer)

    def __repr__(self) -> str:
        return f"<Lister of {len(self)} {self._resource}>"
