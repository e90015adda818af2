"""What is logged of failed reconciles: bugs with their traceback once, the rest in a line. Pure.

Conflicts, missing objects, full quotas and a server that is away are part of a controller's life: a
line at info, because the retry is the answer to them. Anything else is an error, and the first one
of its kind, which is its type and the way through the code, comes with its traceback. An object
that keeps failing in the same way is logged again when its retry delay has doubled.
Memory: one entry per failing key, and a bounded number of kinds.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass
from types import TracebackType
from typing import TypeAlias

from proreus.api.status import (
    AlreadyExists,
    Conflict,
    Forbidden,
    NotFound,
    ServerTimeout,
    ServiceUnavailable,
    Timeout,
    TooManyRequests,
)
from proreus.client.controller.reconciler import RetryLater
from proreus.net.client.transport_error import TransportError

_EXPECTED = (
    AlreadyExists, Conflict, NotFound, RetryLater, ServerTimeout, ServiceUnavailable, Timeout,
    TooManyRequests, TransportError,
)  # fmt: skip
_KINDS_MAX = 256
_Kind: TypeAlias = tuple[object, ...]


@dataclass(frozen=True, slots=True)
class Entry:
    """How a failure is logged."""

    level: int
    has_traceback: bool


@dataclass(frozen=True, slots=True)
class _Said:
    failure: str
    delay_s: float


class FailureLog:
    """Decides for one controller."""

    def __init__(self) -> None:
        self._said: dict[str, _Said] = {}
        self._kinds: set[_Kind] = set()

    def failed(self, key: str, error: BaseException, delay_s: float) -> Entry | None:
        """For a failure that is retried after ``delay_s``; None: it has been logged already."""
        said, failure = self._said.get(key), repr(error)
        if said is not None and said.failure == failure and delay_s < 2 * said.delay_s:
            return None
        self._said[key] = _Said(failure, delay_s)
        return self._entry(error)

    def ended(self, key: str, error: BaseException) -> Entry:
        """For a failure that is not retried."""
        self.succeeded(key)
        return self._entry(error)

    def succeeded(self, key: str) -> None:
        self._said.pop(key, None)

    def _entry(self, error: BaseException) -> Entry:
        if is_expected(error):
            return Entry(logging.INFO, has_traceback=False)
        kind = type(error), *_places(error.__traceback__)
        is_new = kind not in self._kinds and len(self._kinds) < _KINDS_MAX
        if is_new:
            self._kinds.add(kind)
        return Entry(logging.ERROR, has_traceback=is_new)


def is_expected(error: BaseException) -> bool:
    """Whether an error comes from the state of the cluster, and not from the code."""
    if isinstance(error, BaseExceptionGroup):
        return all(map(is_expected, error.exceptions))
    if isinstance(error, Forbidden):
        is_ending = any(one.get("reason") == "NamespaceTerminating" for one in error.causes)
        return is_ending or "exceeded quota" in error.message
    return isinstance(error, _EXPECTED)


def _places(traceback: TracebackType | None) -> Iterator[tuple[str, int]]:
    while traceback is not None:
        yield traceback.tb_frame.f_code.co_filename, traceback.tb_lineno
        traceback = traceback.tb_next
