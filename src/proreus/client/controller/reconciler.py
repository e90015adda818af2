"""The request and the result of a reconcile function.

A request names an object, never an event: reconcile compares the actual state with the desired one.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeAlias, cast, overload

from proreus.api.object import KubeObject
from proreus.api.object_type import AnyObject, AnyValue, Value
from proreus.client.informer import SharedInformer


class Source(Protocol[Value]):
    """Where a controller's objects come from: an informer, or one that has values of a class."""

    @property
    def raw(self) -> SharedInformer: ...
    def read(self, obj: KubeObject, /) -> Value: ...


class _CachedObject:
    """Of the type that the request has, if that is a kind of objects and no class of a user."""

    @overload
    def __get__(self, request: Request[AnyObject], owner: object) -> AnyObject | None: ...
    @overload
    def __get__(self, request: Request[Any], owner: object) -> KubeObject | None: ...
    def __get__(self, request: Any, owner: object) -> Any:
        return request.cached


@dataclass(frozen=True, slots=True)
class Request(Generic[Value]):
    """``object`` is the cached state when the work began, None if there is none (any more), and
    ``value`` the same as what the controller's informer has: of ``Request[Website]`` a Website."""

    key: str
    cached: KubeObject | None
    attempt: int = 0  # failures in a row before this one
    source: Source[Value] | None = None  # None: the value is the object

    object = _CachedObject()

    @property
    def value(self) -> Value | None:
        """Made when it is read. Raises what the class raises for an object that is none of it."""
        if self.cached is None or self.source is None:
            return cast("Value | None", self.cached)
        return self.source.read(self.cached)

    @property
    def namespace(self) -> str:
        return self.key.rpartition("/")[0]

    @property
    def name(self) -> str:
        return self.key.rpartition("/")[2]


@dataclass(frozen=True, slots=True)
class Result:
    """Done for now; ``requeue_after_s`` asks to be called again then, None only when something
    happens."""

    requeue_after_s: float | None = None


class TerminalError(Exception):
    """Trying again would not help: log it, count it, and wait for the object to change."""


class RetryLater(Exception):
    """Not done yet, though nothing is wrong: again, later and later, with a line in the log."""


Reconcile: TypeAlias = Callable[[Request[AnyValue]], Awaitable[Result | None]]
"""Raising anything but TerminalError means: again, later and later."""
