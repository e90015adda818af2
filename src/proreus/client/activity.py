"""Who wants to know which informers and controllers run: whoever reports on this process.

Inside ``recorded_in`` every informer and controller that runs signs on and off by itself, in tasks
that are started there too (a context variable), so that a program has to hand nobody around.
``activity_report`` makes a report of it.
"""

from __future__ import annotations

import contextvars
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal, Protocol

from proreus.api.json_types import JsonObject


class Described(Protocol):
    """Something that runs."""

    def describe(self) -> JsonObject:
        """What it is doing, as the debug pages show it (docs/debug.md)."""
        ...


class Activity:
    """What runs now, in the order in which it began."""

    def __init__(self) -> None:
        self.informers: dict[Described, None] = {}
        self.controllers: dict[Described, None] = {}

    def __repr__(self) -> str:
        counts = f"{len(self.informers)} informers, {len(self.controllers)} controllers"
        return f"<Activity of {counts}>"


_activity: contextvars.ContextVar[Activity | None] = contextvars.ContextVar(
    "activity", default=None
)


@contextmanager
def recorded_in(activity: Activity) -> Iterator[None]:
    token = _activity.set(activity)
    try:
        yield
    finally:
        _activity.reset(token)


@contextmanager
def signed_on(part: Described, among: Literal["informers", "controllers"]) -> Iterator[None]:
    """While the body lasts, the part runs."""
    activity = _activity.get()
    if activity is None:
        yield
        return
    running = activity.informers if among == "informers" else activity.controllers
    running[part] = None
    try:
        yield
    finally:
        running.pop(part, None)
