"""Watch events on their way to one watcher, and what hooks make of them.

Receives: Burst, from ``watch_cache/subscriber``.  Hands on: Burst, to the watch's own sink.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import assert_never

from proreus.api.json_types import Json, JsonObject
from proreus.api.wire import json
from proreus.server.watch_cache.view import Burst, Sink
from proreus.testing.requests import RecordedRequest


class Delivery(Enum):
    """What becomes of a watch event. HOLD: it and all later ones of its watch wait until they are
    released. REPEAT: it is sent twice. AFTER_NEXT: it is sent after the next one. EXPIRE: the watch
    ends with 410 instead, and what it held is never sent; EXPIRE_AFTER: it is sent before that."""

    PASS = auto()
    DROP = auto()
    HOLD = auto()
    REPEAT = auto()
    AFTER_NEXT = auto()
    EXPIRE = auto()
    EXPIRE_AFTER = auto()


@dataclass(slots=True)
class SentEvent:
    """An event on its way to a watcher, as its line of JSON. Without a type if it is not JSON."""

    line: bytes
    _decoded: JsonObject | None = field(default=None, repr=False)

    @property
    def type(self) -> str:
        return str(self._event().get("type") or "")

    @property
    def object(self) -> JsonObject:
        found = self._event().get("object")
        return found if isinstance(found, dict) else {}

    @property
    def name(self) -> str:
        return str(self._metadata().get("name") or "")

    @property
    def namespace(self) -> str:
        return str(self._metadata().get("namespace") or "")

    @property
    def resource_version(self) -> str:
        return str(self._metadata().get("resourceVersion") or "")

    def _metadata(self) -> JsonObject:
        found = self.object.get("metadata")
        return found if isinstance(found, dict) else {}

    def _event(self) -> JsonObject:
        if self._decoded is None:
            try:
                found: Json = json.decode(self.line)
            except ValueError:
                found = {}
            self._decoded = found if isinstance(found, dict) else {}
        return self._decoded


EventHook = Callable[[RecordedRequest, SentEvent], Delivery | bytes]


class WatchedSink:
    """Between a watch and its stream: asks the hooks about each event, while there are some.
    ``expire`` releases it and ends the watch with 410; until then nothing more is sent."""

    def __init__(
        self,
        asked: RecordedRequest,
        sink: Sink,
        hooks: list[EventHook],
        expire: Callable[[WatchedSink], None],
    ) -> None:
        self.asked = asked
        self._sink = sink
        self._hooks = hooks
        self._expire = expire
        self._has_expired = False
        self._held: list[bytes] | None = None
        self._delayed: bytes | None = None

    @property
    def is_held(self) -> bool:
        return self._held is not None

    def write(self, burst: Burst) -> None:
        if self._is_transparent:
            self.asked.events_sent += len(burst.frames)
            self._sink.write(burst)
            return
        lines: list[bytes] = []
        for line in burst.data:
            lines += self._delivered(line)
        self._send(lines)

    @property
    def _is_transparent(self) -> bool:
        is_free = self._held is None and self._delayed is None and not self._has_expired
        return is_free and not self._hooks

    def release(self) -> None:
        """Send what was held, and no longer hold what comes."""
        self._has_expired = False
        held, self._held = self._held or [], None
        if self._delayed is not None:
            held.append(self._delayed)
            self._delayed = None
        self._send(held)

    def _delivered(self, line: bytes) -> list[bytes]:
        if self._has_expired:
            return []
        event = SentEvent(line)
        passed = [line]
        for hook in self._hooks:
            verdict = hook(self.asked, event)
            match verdict:
                case bytes():
                    passed = [verdict if verdict.endswith(b"\n") else verdict + b"\n"]
                case Delivery.PASS:
                    pass
                case Delivery.DROP:
                    return []
                case Delivery.HOLD:
                    self._held = self._held or []
                case Delivery.REPEAT:
                    passed = [*passed, *passed]
                case Delivery.AFTER_NEXT:
                    before, self._delayed = self._delayed, line
                    return [] if before is None else [before]
                case Delivery.EXPIRE:
                    return self._end()
                case Delivery.EXPIRE_AFTER:
                    return [*passed, *self._end()]
                case _:
                    assert_never(verdict)
        return self._in_turn(passed)

    def _in_turn(self, passed: list[bytes]) -> list[bytes]:
        if self._held is not None:
            self._held += passed
            return []
        if self._delayed is not None:
            passed.append(self._delayed)
            self._delayed = None
        return passed

    def _end(self) -> list[bytes]:
        self._held = self._delayed = None
        self._has_expired = True
        self._expire(self)
        return []

    def _send(self, lines: list[bytes]) -> None:
        if lines:
            self.asked.events_sent += len(lines)
            self._sink.write(Burst(tuple(lines)))

    @property
    def buffered(self) -> int:
        return self._sink.buffered

    def close(self) -> None:
        self._sink.close()
