"""Objects of users' own classes without ``await``: see ``proreus.client.Typed``."""

from __future__ import annotations

import builtins
import copy
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from proreus.api.object import KubeObject
from proreus.api.selectors.labels import LabelSelector
from proreus.blocking.client import Client
from proreus.blocking.informers import Informer, SharedInformerFactory
from proreus.client import custom_resources, typed_informer
from proreus.client.custom_resources import Stored
from proreus.client.informer import Handler

T = TypeVar("T")


def register(client: Client, *classes: type[Any], timeout_s: float = 30.0) -> None:
    """Apply the definitions and wait until their kinds are served."""
    client._loop.call(custom_resources.register(client._client, *classes, timeout_s=timeout_s))


class Typed(Generic[T]):
    """The objects of a class in one namespace, or in all."""

    def __init__(self, client: Client, cls: type[T], namespace: str = "") -> None:
        self._loop = client._loop
        self._typed = custom_resources.Typed(client._client, cls, namespace)

    def in_namespace(self, namespace: str) -> Typed[T]:
        return self._with(self._typed.in_namespace(namespace))

    def in_all_namespaces(self) -> Typed[T]:
        return self._with(self._typed.in_all_namespaces())

    def _with(self, typed: custom_resources.Typed[T]) -> Typed[T]:
        made = copy.copy(self)
        made._typed = typed
        return made

    def create(self, name: str, value: T) -> Stored[T]:
        return self._loop.call(self._typed.create(name, value))

    def apply(self, name: str, value: T, *, force: bool = False) -> Stored[T]:
        return self._loop.call(self._typed.apply(name, value, force=force))

    def update(self, stored: Stored[T], value: T) -> Stored[T]:
        return self._loop.call(self._typed.update(stored, value))

    def get(self, name: str) -> Stored[T]:
        return self._loop.call(self._typed.get(name))

    def list(self, *, label_selector: str = "") -> builtins.list[Stored[T]]:
        return self._loop.call(self._typed.list(label_selector=label_selector))

    def set_status(self, name: str, status: Any) -> Stored[T]:
        return self._loop.call(self._typed.set_status(name, status))

    def delete(self, name: str) -> None:
        self._loop.call(self._typed.delete(name))

    def informer(self, informers: SharedInformerFactory) -> TypedInformer[T]:
        """The informer of these objects; its handlers and its lister have values."""
        found = self._loop.run(lambda: self._typed.informer(informers._factory))
        return TypedInformer(Informer(found.raw, self._loop, informers._workers), found)

    def of(self, obj: KubeObject) -> Stored[T]:
        return self._typed.of(obj)


class TypedInformer(Generic[T]):
    """An informer whose handlers and lister have values of a class; ``raw`` is the one below."""

    def __init__(self, raw: Informer, typed: typed_informer.TypedInformer[T]) -> None:
        self.raw = raw
        self._typed = typed

    def get(self, name: str, namespace: str = "") -> Stored[T]:
        """Raises NotFound."""
        return self._typed.get(name, namespace)

    def find(self, name: str, namespace: str = "") -> Stored[T] | None:
        return self._typed.find(name, namespace)

    def list(
        self, *, namespace: str = "", label_selector: LabelSelector | str = ""
    ) -> builtins.list[Stored[T]]:
        return self._typed.list(namespace=namespace, label_selector=label_selector)

    def add_handler(
        self,
        on_add: Callable[[Stored[T]], object] | None = None,
        on_update: Callable[[Stored[T], Stored[T]], object] | None = None,
        on_delete: Callable[[Stored[T]], object] | None = None,
        *,
        resync_s: float = 0.0,
        name: str = "",
    ) -> Handler:
        """As ``Informer.add_handler``; values are made on the handler's thread."""
        functions = self._typed.handlers(on_add, on_update, on_delete)
        return self.raw.add_handler(*functions, resync_s=resync_s, name=name)
