"""Informers without ``await``: caches that a loop thread keeps current and any thread reads."""

from __future__ import annotations

import builtins
import functools
from collections.abc import Awaitable, Callable, Mapping
from contextlib import ExitStack
from typing import Any, Generic, Unpack, overload

from proreus.aio.clock import Clock
from proreus.api.object_type import AnyObject, Object
from proreus.api.selectors.labels import LabelSelector
from proreus.blocking.client import Client
from proreus.blocking.loop_thread import LoopThread
from proreus.blocking.worker_thread import WorkerThread
from proreus.client import informer as async_informer
from proreus.client.informer import Handler, IndexFunction, InformerStatus
from proreus.client.informer.factory import InformerOptions
from proreus.client.reflector.reflector import ReflectorConfig, Transform


class Lister(Generic[Object]):
    """Reads of an informer's cache; only waiting for a version talks to the loop."""

    def __init__(self, lister: async_informer.Lister[Object], loop: LoopThread) -> None:
        self._lister = lister
        self._loop = loop

    def get(
        self,
        name: str,
        namespace: str = "",
        *,
        at_least: int | str | None = None,
        timeout_s: float = 30.0,
    ) -> Object:
        """The object, or raise NotFound; ``at_least`` waits for a version, such as one's own."""
        if at_least is not None:
            self._loop.call(self._lister.wait_for_version(at_least, timeout_s=timeout_s))
        return self._lister.get(name, namespace)

    def find(self, name: str, namespace: str = "") -> Object | None:
        return self._lister.find(name, namespace)

    def list(
        self, *, namespace: str = "", label_selector: LabelSelector | str = ""
    ) -> builtins.list[Object]:
        return self._lister.list(namespace=namespace, label_selector=label_selector)

    def by_index(self, index: str, value: str) -> builtins.list[Object]:
        return self._lister.by_index(index, value)

    def __len__(self) -> int:
        return len(self._lister)


class Informer(Generic[Object]):
    """One shared informer of a factory."""

    def __init__(
        self,
        informer: async_informer.SharedInformer[Object],
        loop: LoopThread,
        workers: dict[Handler, WorkerThread],
    ) -> None:
        self._informer = informer
        self._loop = loop
        self._workers = workers  # the factory's: it ends them all
        self.lister = Lister(informer.lister, loop)

    @property
    def has_synced(self) -> bool:
        return self._informer.has_synced

    def status(self) -> InformerStatus:
        return self._loop.run(self._informer.status)

    def add_handler(
        self,
        on_add: Callable[[Object], object] | None = None,
        on_update: Callable[[Object, Object], object] | None = None,
        on_delete: Callable[[Object], object] | None = None,
        *,
        resync_s: float = 0.0,
        name: str = "",
    ) -> Handler:
        """Plain functions, called on a thread of this handler's own, in order and one at a time;
        they may block, call the client and close it."""
        worker = WorkerThread(f"handler of {self._informer.name} {name}".rstrip())
        add, update, delete = (_on_worker(worker, one) for one in (on_add, on_update, on_delete))

        def register() -> Handler:
            handler = self._informer.add_handler(add, update, delete, resync_s=resync_s, name=name)
            self._workers[handler] = worker
            return handler

        return self._loop.run(register)

    def remove_handler(self, handler: Handler) -> None:
        def remove() -> None:
            self._informer.remove_handler(handler)
            if worker := self._workers.pop(handler, None):
                worker.close()

        self._loop.run(remove)

    def add_indexes(self, indexes: Mapping[str, IndexFunction[Object]]) -> None:
        self._loop.run(lambda: self._informer.add_indexes(indexes))


class SharedInformerFactory:
    """See ``proreus.client.informer.SharedInformerFactory``. Use as a context manager."""

    def __init__(
        self,
        client: Client,
        *,
        namespace: str = "",
        transform: Transform | None = None,
        config: ReflectorConfig | None = None,
        clock: Clock | None = None,
    ) -> None:
        self._loop = client._loop
        self._factory = self._loop.run(
            lambda: async_informer.SharedInformerFactory(
                client._client, namespace=namespace, transform=transform, config=config, clock=clock
            )
        )
        self._running = ExitStack()
        self._workers: dict[Handler, WorkerThread] = {}

    def __enter__(self) -> SharedInformerFactory:
        self._running.enter_context(self._loop.held(self._factory))
        return self

    def __exit__(self, *exc: object) -> None:
        try:
            self._running.close()
        finally:
            for worker in self._workers.values():
                worker.close()

    @overload
    def informer(
        self, resource: type[AnyObject], **selection: Unpack[InformerOptions[AnyObject]]
    ) -> Informer[AnyObject]: ...
    @overload
    def informer(self, resource: str, **selection: Unpack[InformerOptions]) -> Informer: ...
    def informer(self, resource: Any, **selection: Any) -> Informer:
        found = self._loop.run(lambda: self._factory.informer(resource, **selection))
        return Informer(found, self._loop, self._workers)

    @overload
    def lister(
        self, resource: type[AnyObject], *, namespace: str | None = None
    ) -> Lister[AnyObject]: ...
    @overload
    def lister(self, resource: str, *, namespace: str | None = None) -> Lister: ...
    def lister(self, resource: Any, *, namespace: str | None = None) -> Lister:
        found: Informer = self.informer(resource, namespace=namespace)
        return found.lister

    def start(self) -> None:
        self._loop.run(self._factory.start)

    def wait_for_cache_sync(self, *, timeout_s: float | None = None) -> None:
        self._loop.call(self._factory.wait_for_cache_sync(timeout_s=timeout_s))

    def status(self) -> builtins.list[InformerStatus]:
        return self._loop.run(self._factory.status)


def _on_worker(
    worker: WorkerThread, function: Callable[..., object] | None
) -> Callable[..., Awaitable[None]] | None:
    if function is None:
        return None

    @functools.wraps(function)
    async def call(*args: object) -> None:
        await worker.run(function, *args)

    return call
