"""One shared informer per selection, started and stopped together.

    async with SharedInformerFactory(client) as informers:
        pods = informers.informer("pods", namespace="default")
        pods.add_handler(on_add=print)
        informers.start()
        await informers.wait_for_cache_sync()

Two requests for the same selection get the same informer, so the server sees one watch; names of
built-in resources are identified by what they mean (``cm`` is ``configmaps``).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache, partial
from types import TracebackType
from typing import Any, Generic, Protocol, TypeAlias, TypedDict, Unpack, overload

from proreus.aio.clock import Clock, SystemClock, deadline
from proreus.api.object import KubeObject
from proreus.api.object_type import AnyObject
from proreus.api.selectors import FieldSelector, LabelSelector
from proreus.client.informer.indexer import IndexFunction
from proreus.client.informer.informer import InformerStopped, SharedInformer
from proreus.client.informer.lister import Lister
from proreus.client.informer.status import InformerStatus
from proreus.client.informer.sync_report import SyncReport
from proreus.client.reflector.list_watch import ListWatch
from proreus.client.reflector.reflector import ReflectorConfig, Transform
from proreus.client.resources.builtin import canonical_name, resource_name
from proreus.client.resources.resource_client import ResourceClient

# Asked at every write of a controller.
_label_selector = lru_cache(maxsize=256)(LabelSelector.parse)
_field_selector = lru_cache(maxsize=256)(FieldSelector.parse)


@dataclass(frozen=True, slots=True)
class InformerSelection:
    """Which objects: a resource (``pods``, ``deployments.apps``), all of it or a part.

    ``metadata_only`` asks the server for nothing but metadata, which is most of what garbage
    collectors and counters need, at a fraction of the bytes.
    """

    resource: str
    namespace: str = ""
    label_selector: str = ""
    field_selector: str = ""
    metadata_only: bool = False

    def includes(self, obj: KubeObject) -> bool:
        """Whether ``obj`` is certain to be selected. Of a selector of fields only names are known
        here; what others select is the server's to say."""
        if self.namespace and obj.namespace != self.namespace:
            return False
        if self.label_selector and not _label_selector(self.label_selector).matches(obj.labels):
            return False
        if not self.field_selector:
            return True
        fields = {"metadata.name": obj.name, "metadata.namespace": obj.namespace}
        wanted = _field_selector(self.field_selector)
        return all(one.field in fields for one in wanted.requirements) and wanted.matches(fields)

    def __str__(self) -> str:
        """What tells informers apart in logs and metrics: ``pods in default, app=web``."""
        parts = [f"{self.resource} in {self.namespace}" if self.namespace else self.resource]
        parts += [part for part in (self.label_selector, self.field_selector) if part]
        parts += ["metadata only"] if self.metadata_only else []
        return ", ".join(parts)


class TransformExists(ValueError):
    """The shared informer of a selection transforms its objects in another way."""


ListWatchSource: TypeAlias = Callable[[InformerSelection], ListWatch]
"""How a selection is listed and watched, for those who bring their own."""


class Resources(Protocol):
    """What a factory needs of a client."""

    def resource(self, name: str, /) -> ResourceClient: ...


def list_watch_of(client: Resources, selection: InformerSelection) -> ListWatch:
    """List and watch of a selection, through a client."""
    found, namespace = client.resource(selection.resource), selection.namespace
    resource = found.in_namespace(namespace) if namespace else found.in_all_namespaces()
    return (resource.metadata_only if selection.metadata_only else resource).list_watch(
        label_selector=selection.label_selector, field_selector=selection.field_selector
    )


class InformerOptions(TypedDict, Generic[AnyObject], total=False):
    """What narrows an informer, and what it does with its objects."""

    namespace: str | None
    label_selector: str
    field_selector: str
    metadata_only: bool
    transform: Transform | None
    indexes: Mapping[str, IndexFunction[AnyObject]] | None


class SharedInformerFactory:
    """An async context manager: leaving it stops every informer and waits for them."""

    def __init__(
        self,
        source: Resources | ListWatchSource,
        *,
        namespace: str = "",
        transform: Transform | None = None,
        config: ReflectorConfig | None = None,
        clock: Clock | None = None,
    ) -> None:
        self._source: ListWatchSource = (
            source if callable(source) else partial(list_watch_of, source)
        )
        self._namespace = namespace
        self._transform = transform
        self._config = config or ReflectorConfig()
        self._clock = clock or SystemClock()
        self._informers: dict[InformerSelection, SharedInformer] = {}
        self._transforms: dict[InformerSelection, Transform | None] = {}
        self._started: dict[InformerSelection, asyncio.Task[None]] = {}
        self._group: asyncio.TaskGroup | None = None
        self._is_stopped = False

    @overload
    def informer(
        self, resource: type[AnyObject], **selection: Unpack[InformerOptions[AnyObject]]
    ) -> SharedInformer[AnyObject]: ...
    @overload
    def informer(self, resource: str, **selection: Unpack[InformerOptions]) -> SharedInformer: ...
    def informer(
        self,
        resource: type[KubeObject] | str,
        *,
        namespace: str | None = None,
        label_selector: str = "",
        field_selector: str = "",
        metadata_only: bool = False,
        transform: Transform | None = None,
        indexes: Mapping[str, IndexFunction[Any]] | None = None,
    ) -> SharedInformer:
        """The informer of a selection, made on first request and then shared. A class of
        ``api.kinds`` gives its objects their type. ``namespace`` None is the factory's, empty is
        all of them. ``transform`` None is that of the informer that is there, or the factory's;
        ``indexes`` that are not there yet are added. It runs from the next ``start`` on.

        Raises TransformExists or IndexExists where the informer that is there has another function
        in that place: the first caller relies on it.
        """
        chosen = self._namespace if namespace is None else namespace
        name = canonical_name(resource_name(resource))
        selection = InformerSelection(name, chosen, label_selector, field_selector, metadata_only)
        found = self._informers.get(selection)
        if found is None:
            if self._is_stopped:
                raise InformerStopped("the informers of this factory have been stopped")
            used = transform or self._transform
            self._transforms[selection] = used
            found = self._informers[selection] = SharedInformer(
                self._source(selection),
                name,
                name=str(selection),
                transform=used,
                config=self._config,
                clock=self._clock,
            )
            found.includes = selection.includes
            found.namespace = chosen
        elif transform is not None and transform != self._transforms[selection]:
            raise TransformExists(f"the informer of {found.name} has another transform")
        found.ensure_indexes(indexes or {})
        return found

    def find(self, resource: str) -> SharedInformer | None:
        """The informer of a whole resource in all namespaces, if somebody has asked for it."""
        return self._informers.get(InformerSelection(canonical_name(resource)))

    @overload
    def lister(
        self, resource: type[AnyObject], *, namespace: str | None = None
    ) -> Lister[AnyObject]: ...
    @overload
    def lister(self, resource: str, *, namespace: str | None = None) -> Lister: ...
    def lister(self, resource: type[KubeObject] | str, *, namespace: str | None = None) -> Lister:
        """The lister of the informer of a whole resource."""
        return self.informer(resource, namespace=namespace).lister

    def start(self) -> None:
        """Start the informers that have been asked for and do not run yet. Call it as often as you
        like, inside the ``async with``."""
        if self._is_stopped:
            raise InformerStopped("the informers of this factory have been stopped")
        if self._group is None:
            raise RuntimeError("start informers inside `async with` of their factory")
        for selection, informer in self._informers.items():
            if selection not in self._started:
                task = self._group.create_task(informer.run(), name=f"informer {informer.name}")
                self._started[selection] = task

    async def wait_for_cache_sync(self, *, timeout_s: float | None = None) -> None:
        """Wait until every started informer has synced. Without ``timeout_s`` it waits as long as
        the server takes, and says every half minute why; with it, raises ``TimeoutError`` naming
        those that lack."""
        waiting = [self._informers[selection] for selection in self._started]
        try:
            with SyncReport("wait_for_cache_sync", waiting, self._clock):
                async with deadline(self._clock, timeout_s):
                    for informer in waiting:
                        await informer.wait_synced()
        except TimeoutError as late:
            lacking = [informer.status() for informer in waiting if not informer.has_synced]
            reasons = "; ".join(f"{s.name}: {s.last_failure or s.phase}" for s in lacking)
            raise TimeoutError(f"not synced within {timeout_s} s: {reasons}") from late

    def status(self) -> list[InformerStatus]:
        """The present state of every informer."""
        return [informer.status() for informer in self._informers.values()]

    async def __aenter__(self) -> SharedInformerFactory:
        if self._is_stopped or self._group is not None:
            raise InformerStopped("a factory is entered once")
        self._group = await asyncio.TaskGroup().__aenter__()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        assert self._group is not None
        self._is_stopped = True
        for task in self._started.values():
            task.cancel()
        try:
            await self._group.__aexit__(kind, error, traceback)
        except BaseExceptionGroup as failed:
            # The body's own exception leaves as it was raised; only an informer's is grouped.
            if failed.exceptions != (error,):
                raise

    def __repr__(self) -> str:
        running = len(self._started)
        return f"<SharedInformerFactory, {running} of {len(self._informers)} informers running>"
