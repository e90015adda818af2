"""Which events are worth writing: like ones are combined, repeated ones counted, floods dropped.

Pure: no I/O, time is passed in. The order is Kubernetes' own: aggregate, count, spam filter. Each
stage remembers the 4096 most recently used keys.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

import msgspec

from proreus.api.json_types import JsonObject
from proreus.api.values.timestamp import format_time

MEMORY = 4096
SIMILAR_MAX = 10
SIMILAR_WINDOW_S = 600.0
SPAM_BURST = 25
SPAM_REFILL_S = 300.0  # one more event per object and so many seconds

K = TypeVar("K")
V = TypeVar("V")


class EventSubject(msgspec.Struct, frozen=True, gc=False):
    """The object that an event is about, as ``involvedObject`` names it."""

    api_version: str
    kind: str
    namespace: str
    name: str
    uid: str
    resource_version: str = ""
    field_path: str = ""

    def reference(self) -> dict[str, str]:
        fields = {
            "apiVersion": self.api_version,
            "kind": self.kind,
            "namespace": self.namespace,
            "name": self.name,
            "uid": self.uid,
            "resourceVersion": self.resource_version,
            "fieldPath": self.field_path,
        }
        return {key: value for key, value in fields.items() if value}

    @property
    def identity(self) -> tuple[str, ...]:
        return (self.api_version, self.kind, self.namespace, self.name, self.uid)


class Occurrence(msgspec.Struct, frozen=True, gc=False):
    """Something happened to ``subject``, at ``at`` (Unix seconds)."""

    subject: EventSubject
    type: str  # Normal, Warning
    reason: str
    message: str
    at: float
    annotations: tuple[tuple[str, str], ...] = ()


class EventWrite(msgspec.Struct, frozen=True, gc=False):
    """What to write: a new event, or one more count of the event ``name`` (``count`` > 1)."""

    occurrence: Occurrence
    name: str
    count: int
    first_at: float
    key: tuple[str, ...]  # what counts as the same event

    @property
    def is_repeat(self) -> bool:
        return self.count > 1

    def patch(self) -> JsonObject:
        return {
            "count": self.count,
            "lastTimestamp": format_time(self.occurrence.at),
            "message": self.occurrence.message,
        }


class Recent(Generic[K, V]):
    """The most recently used entries; an unknown key gets a new value."""

    def __init__(self, make: Callable[[], V]) -> None:
        self._make = make
        self._entries: OrderedDict[K, V] = OrderedDict()

    def __getitem__(self, key: K) -> V:
        found = self._entries.get(key)
        if found is None:
            found = self._entries[key] = self._make()
            if len(self._entries) > MEMORY:
                self._entries.popitem(last=False)
        else:
            self._entries.move_to_end(key)
        return found

    def __len__(self) -> int:
        return len(self._entries)


@dataclass(slots=True)
class _Similar:
    messages: set[str] = field(default_factory=set)
    last_at: float = float("-inf")


@dataclass(slots=True)
class _Written:
    name: str = ""
    count: int = 0
    first_at: float = 0.0


@dataclass(slots=True)
class _Allowance:
    tokens: float = SPAM_BURST
    counted_at: float | None = None


class EventCorrelator:
    """Decides for one source of events. ``new_name`` names an event that has not been written."""

    def __init__(self, new_name: Callable[[EventSubject], str]) -> None:
        self._new_name = new_name
        self._similar: Recent[tuple[str, ...], _Similar] = Recent(_Similar)
        self._written: Recent[tuple[str, ...], _Written] = Recent(_Written)
        self._allowances: Recent[tuple[str, ...], _Allowance] = Recent(_Allowance)

    def correlate(self, occurrence: Occurrence) -> EventWrite | None:
        """What to write about an occurrence; None: too many, drop it."""
        identity = occurrence.subject.identity
        combined, key = self._aggregate(occurrence, identity)
        write = self._count(combined, key)
        return write if self._allow(occurrence, identity) else None

    def recreated(self, write: EventWrite) -> EventWrite:
        """The event to be counted up is gone from the server: begin a new one."""
        occurrence, written = write.occurrence, self._written[write.key]
        written.name = self._new_name(occurrence.subject)
        written.count, written.first_at = 1, occurrence.at
        return EventWrite(occurrence, written.name, 1, written.first_at, write.key)

    def _aggregate(
        self, occurrence: Occurrence, identity: tuple[str, ...]
    ) -> tuple[Occurrence, tuple[str, ...]]:
        key = (*identity, occurrence.type, occurrence.reason)
        similar = self._similar[key]
        if occurrence.at - similar.last_at > SIMILAR_WINDOW_S:
            similar.messages.clear()
        similar.last_at = occurrence.at
        similar.messages.add(occurrence.message)
        if len(similar.messages) < SIMILAR_MAX:
            return occurrence, (*key, occurrence.subject.field_path, occurrence.message)
        # One is forgotten, so that the set stays small and the limit stays reached.
        similar.messages.pop()
        message = f"(combined from similar events): {occurrence.message}"
        return msgspec.structs.replace(occurrence, message=message), key

    def _count(self, occurrence: Occurrence, key: tuple[str, ...]) -> EventWrite:
        written = self._written[key]
        if not written.count:
            written.name, written.first_at = self._new_name(occurrence.subject), occurrence.at
        written.count += 1
        return EventWrite(occurrence, written.name, written.count, written.first_at, key)

    def _allow(self, occurrence: Occurrence, identity: tuple[str, ...]) -> bool:
        allowance = self._allowances[(*identity, occurrence.type)]
        since = occurrence.at if allowance.counted_at is None else allowance.counted_at
        earned = max(0.0, occurrence.at - since) / SPAM_REFILL_S
        allowance.tokens = min(float(SPAM_BURST), allowance.tokens + earned)
        allowance.counted_at = occurrence.at
        if allowance.tokens < 1:
            return False
        allowance.tokens -= 1
        return True
