"""Objects of users' own classes without ``await``: see ``proreus.client.Typed``."""

from __future__ import annotations

import builtins
from typing import Any, Generic, TypeVar

from proreus.api.object import KubeObject
from proreus.blocking.client import Client
from proreus.client import custom_resources
from proreus.client.custom_resources import Stored

T = TypeVar("T")


def register(client: Client, *classes: type[Any], timeout_s: float = 30.0) -> None:
    """Apply the definitions and wait until their kinds are served."""
    client._loop.call(custom_resources.register(client._client, *classes, timeout_s=timeout_s))


class Typed(Generic[T]):
    """The objects of a class in one namespace, or in all."""

    def __init__(self, client: Client, cls: type[T], namespace: str = "") -> None:
        self._loop = client._loop
        self._typed = custom_resources.Typed(client._client, cls, namespace)

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

    def of(self, obj: KubeObject) -> Stored[T]:
        return self._typed.of(obj)
