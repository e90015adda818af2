"""Where a test server lets a test look at requests and watch events, and change their course.

Built into the server when it is made (``server/http/instruments``). Every request is written down;
hooks are called only while there are some.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from enum import Enum, auto
from functools import partial
from itertools import count

from proreus.aio.clock import Clock
from proreus.api.json_types import Json, JsonObject
from proreus.api.wire import json
from proreus.api.wire.path import ApiPath
from proreus.net.http1.messages import Answer, Response
from proreus.server.http.exchange import Exchange
from proreus.server.http.instruments import Instruments
from proreus.server.http.stages.stage import Next
from proreus.server.storage.memory import MemoryStorage
from proreus.server.watch_cache.view import Burst, Sink
from proreus.testing.requests import RecordedRequest, Requests


class BreakConnection(Exception):
    """Raised by a hook: the client's connection is reset, and it gets no answer."""


class Delivery(Enum):
    """What becomes of a watch event. HOLD: it and all later ones of its watch wait until they are
    released. REPEAT: it is sent twice. AFTER_NEXT: it is sent after the next one."""

    PASS = auto()
    DROP = auto()
    HOLD = auto()
    REPEAT = auto()
    AFTER_NEXT = auto()


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


Proceed = Callable[[], Awaitable[Answer]]
RequestHook = Callable[[RecordedRequest, Proceed], Awaitable[Answer]]
EventHook = Callable[[RecordedRequest, SentEvent], Delivery | bytes]
Stop = Callable[[], None]


class WatchedSink:
    """Between a watch and its stream: asks the hooks about each event, while there are some."""

    def __init__(self, asked: RecordedRequest, sink: Sink, hooks: list[EventHook]) -> None:
        self.asked = asked
        self._sink = sink
        self._hooks = hooks
        self._held: list[bytes] | None = None
        self._delayed: bytes | None = None

    @property
    def is_held(self) -> bool:
        return self._held is not None

    def write(self, burst: Burst) -> None:
        if not self._hooks and self._held is None and self._delayed is None:
            self.asked.events_sent += len(burst.frames)
            self._sink.write(burst)
            return
        lines: list[bytes] = []
        for line in burst.data:
            lines += self._delivered(line)
        self._send(lines)

    def release(self) -> None:
        """Send what was held, and no longer hold what comes."""
        held, self._held = self._held or [], None
        if self._delayed is not None:
            held.append(self._delayed)
            self._delayed = None
        self._send(held)

    def _delivered(self, line: bytes) -> list[bytes]:
        if self._held is not None:
            self._held.append(line)
            return []
        event = SentEvent(line)
        passed = [line]
        for hook in self._hooks:
            verdict = hook(self.asked, event)
            if isinstance(verdict, bytes):
                passed = [verdict if verdict.endswith(b"\n") else verdict + b"\n"]
            elif verdict is Delivery.DROP:
                return []
            elif verdict is Delivery.HOLD:
                self._held = [line]
                return []
            elif verdict is Delivery.REPEAT:
                passed = [*passed, *passed]
            elif verdict is Delivery.AFTER_NEXT:
                before, self._delayed = self._delayed, line
                return [] if before is None else [before]
        if self._delayed is not None:
            passed.append(self._delayed)
            self._delayed = None
        return passed

    def _send(self, lines: list[bytes]) -> None:
        if lines:
            self.asked.events_sent += len(lines)
            self._sink.write(Burst(tuple(lines)))

    @property
    def buffered(self) -> int:
        return self._sink.buffered

    def close(self) -> None:
        self._sink.close()


class Interception:
    """``instruments`` go into the server; the rest is for the test."""

    def __init__(self, clock: Clock, memory: MemoryStorage | None) -> None:
        self.requests = Requests()
        self.sinks: dict[RecordedRequest, WatchedSink] = {}  # of the watches under way
        self._clock = clock
        self._memory = memory
        self._numbers = count(1)
        self._begun: dict[int, RecordedRequest] = {}  # by the identity of their exchange
        self._request_hooks: list[RequestHook] = []
        self._event_hooks: list[EventHook] = []

    def instruments(self) -> Instruments:
        return Instruments(
            around=(self._record,),
            behind=(self._ask_hooks,),
            wrap_sink=self._wrap,
            memory=self._memory,
        )

    def intercept(self, hook: RequestHook) -> Stop:
        """The hooks see a request in the order in which they were added."""
        self._request_hooks.append(hook)
        return partial(_discard, self._request_hooks, hook)

    def on_watch_event(self, hook: EventHook) -> Stop:
        self._event_hooks.append(hook)
        return partial(_discard, self._event_hooks, hook)

    def forget_hooks(self) -> None:
        self._request_hooks.clear()
        self._event_hooks.clear()
        for sink in list(self.sinks.values()):
            sink.release()

    def _revision(self) -> int:
        return self._memory.revision if self._memory is not None else 0

    def _record(self, proceed: Next) -> Next:
        async def stage(exchange: Exchange) -> Answer:
            asked = self._asked(exchange)
            self.requests.add(asked)
            self._begun[id(exchange)] = asked
            if asked.is_write:
                exchange.request.tap_body(asked.body.extend)
            try:
                answer = await proceed(exchange)
                asked.status = answer.status
                if isinstance(answer, Response) and isinstance(answer.body, bytes):
                    asked.answer = answer.body if answer.status >= 400 else b""
                return answer
            finally:
                asked.is_over = True
                asked.revision_after = self._revision()
                del self._begun[id(exchange)]
                self.sinks.pop(asked, None)

        return stage

    def _asked(self, exchange: Exchange) -> RecordedRequest:
        request, target = exchange.request, exchange.target
        asked = RecordedRequest(
            number=next(self._numbers),
            at_s=self._clock.monotonic(),
            method=exchange.method,
            verb=exchange.verb,
            path=exchange.path,
            query=request.raw_query,
            user_agent=exchange.user_agent(),
            is_long_running=exchange.is_long_running,
            revision_before=self._revision(),
        )
        if isinstance(target, ApiPath):
            asked.group, asked.resource = target.group, target.resource
            asked.subresource, asked.namespace = target.subresource, target.namespace
            asked.name = target.name
        return asked

    def _ask_hooks(self, proceed: Next) -> Next:
        async def stage(exchange: Exchange) -> Answer:
            asked = self._begun[id(exchange)]
            asked.user = exchange.user.name
            call: Proceed = partial(_proceed, proceed, exchange)
            for hook in reversed(self._request_hooks):
                call = partial(_hooked, hook, asked, call)
            try:
                return await call()
            except BreakConnection:
                exchange.request.transport.abort()
                raise ConnectionResetError("broken by the test") from None

        return stage

    def _wrap(self, exchange: Exchange, sink: Sink) -> Sink:
        asked = self._begun[id(exchange)]
        made = self.sinks[asked] = WatchedSink(asked, sink, self._event_hooks)
        return made


async def _proceed(proceed: Next, exchange: Exchange) -> Answer:
    return await proceed(exchange)


async def _hooked(hook: RequestHook, asked: RecordedRequest, call: Proceed) -> Answer:
    return await hook(asked, call)


def _discard(hooks: list[RequestHook] | list[EventHook], hook: RequestHook | EventHook) -> None:
    if hook in hooks:
        hooks.remove(hook)  # type: ignore[arg-type]  # it was added to this list
