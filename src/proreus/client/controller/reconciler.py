"""The request and the result of a reconcile function.

A request names an object, never an event: reconcile compares the actual state with the desired one.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Generic, TypeAlias

from proreus.api.object_type import Object


@dataclass(frozen=True, slots=True)
class Request(Generic[Object]):
    """``object`` is the cached state when the work began, None if there is none (any more)."""

    key: str
    object: Object | None
    attempt: int = 0  # failures in a row before this one

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


Reconcile: TypeAlias = Callable[[Request[Object]], Awaitable[Result | None]]
"""Raising anything but TerminalError means: again, later and later."""
