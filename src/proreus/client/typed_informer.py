"""An informer whose handlers and lister have values of a class. Others may share its cache."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from proreus.api.object import KubeObject
from proreus.api.selectors.labels import LabelSelector
from proreus.client.custom_resources import Stored
from proreus.client.informer import Handler, SharedInformer

T = TypeVar("T")


class TypedInformer(Generic[T]):
    """``raw`` is the informer itself. A value is made when it is read. A controller of it gets
    ``Request[T]``."""

    def __init__(self, raw: SharedInformer, read: Callable[[KubeObject], Stored[T]]) -> None:
        self.raw = raw
        self._read = read

    def read(self, obj: KubeObject) -> T:
        """Raises what the class raises for an object that is none of it."""
        return self._read(obj).value

    def get(self, name: str, namespace: str = "") -> Stored[T]:
        """Raises NotFound."""
        return self._read(self.raw.lister.get(name, namespace))

    def find(self, name: str, namespace: str = "") -> Stored[T] | None:
        found = self.raw.lister.find(name, namespace)
        return None if found is None else self._read(found)

    def list(
        self, *, namespace: str = "", label_selector: LabelSelector | str = ""
    ) -> list[Stored[T]]:
        found = self.raw.lister.list(namespace=namespace, label_selector=label_selector)
        return [self._read(obj) for obj in found]

    def add_handler(
        self,
        on_add: Callable[[Stored[T]], object] | None = None,
        on_update: Callable[[Stored[T], Stored[T]], object] | None = None,
        on_delete: Callable[[Stored[T]], object] | None = None,
        *,
        resync_s: float = 0.0,
        name: str = "",
    ) -> Handler:
        """As ``SharedInformer.add_handler``. An object that is no value of the class fails the
        call, as an exception of the handler does."""
        functions = self.handlers(on_add, on_update, on_delete)
        return self.raw.add_handler(*functions, resync_s=resync_s, name=name)

    def handlers(
        self,
        on_add: Callable[[Stored[T]], object] | None,
        on_update: Callable[[Stored[T], Stored[T]], object] | None,
        on_delete: Callable[[Stored[T]], object] | None,
    ) -> tuple[
        Callable[[KubeObject], object] | None,
        Callable[[KubeObject, KubeObject], object] | None,
        Callable[[KubeObject], object] | None,
    ]:
        """The same functions for an informer without values."""
        read = self._read
        return (
            None if on_add is None else lambda obj: on_add(read(obj)),
            None if on_update is None else lambda old, new: on_update(read(old), read(new)),
            None if on_delete is None else lambda obj: on_delete(read(obj)),
        )

    def __repr__(self) -> str:
        return f"<TypedInformer of {self.raw!r}>"
