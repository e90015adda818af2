"""What a list or a watch asks for: which objects, and how fresh or how old a state.

The registry translates ListOptions into these (server.md §2.5, §2.8); the cache never sees text.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field

from proreus.api.selectors import FieldSelector, LabelSelector
from proreus.lazy_dataclass import dataclass
from proreus.server.watch_cache.object import CachedObject


@dataclass(frozen=True, slots=True)
class Selection:
    """``namespace`` and ``name`` "" mean all. Hashable: equal selections share their events."""

    namespace: str = ""
    name: str = ""
    labels: LabelSelector = field(default_factory=LabelSelector.everything)
    fields: FieldSelector = field(default_factory=FieldSelector.everything)

    @property
    def has_selectors(self) -> bool:
        return not (self.labels.is_empty and self.fields.is_empty)

    def __str__(self) -> str:
        words = [f"namespace {self.namespace}"] if self.namespace else []
        words += [f"name {self.name}"] if self.name else []
        words += [f"labels {self.labels}"] if not self.labels.is_empty else []
        words += [f"fields {self.fields}"] if not self.fields.is_empty else []
        return ", ".join(words) or "everything"


@dataclass(frozen=True, slots=True)
class Latest:
    """Every write acknowledged before the question is seen (linearizable)."""


@dataclass(frozen=True, slots=True)
class AnyState:
    """Whatever is at hand, however stale. ``limit`` is ignored by cached resources."""


@dataclass(frozen=True, slots=True)
class NotOlderThan:
    revision: int


@dataclass(frozen=True, slots=True)
class Exact:
    revision: int


State = Latest | AnyState | NotOlderThan | Exact
WatchState = Latest | AnyState | NotOlderThan


@dataclass(frozen=True, slots=True)
class ListQuery:
    """``limit`` 0 means all. ``start`` is the relative key to begin at, itself included."""

    selection: Selection = field(default_factory=Selection)
    state: State = field(default_factory=Latest)
    limit: int = 0
    start: str = ""


@dataclass(frozen=True, slots=True)
class ListResult:
    """Objects in key order. ``next_start`` "" means that no keys follow.

    ``remaining`` counts the keys that follow; None if there are none or selectors decide.
    ``written_after``: a revision that all of them are newer than, 0 if none is known.
    """

    objects: Sequence[CachedObject]
    revision: int
    next_start: str = ""
    remaining: int | None = None
    written_after: int = 0


@dataclass(frozen=True, slots=True)
class WatchQuery:
    """``after``: changes after that revision. None: from a state as fresh as ``state`` says,
    sent first as ADDED events if ``send_initial``, ended by a marked bookmark if bookmarks and
    ``initial_events_end`` are wanted. ``timeout_s`` None never ends the watch; ≤ 0 at once.
    """

    selection: Selection = field(default_factory=Selection)
    after: int | None = None
    state: WatchState = field(default_factory=Latest)
    send_initial: bool = False
    bookmarks: bool = False
    initial_events_end: bool = False
    timeout_s: float | None = None
