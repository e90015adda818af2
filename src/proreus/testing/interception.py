"""Where a test server lets a test look at requests and watch events, and change their course.

Built into the server when it is made (``server/http/instruments``). Every request is written down;
hooks are called only while there are some.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from itertools import count

from proreus.aio.clock import Clock
from proreus.api.wire.path import ApiPath
from proreus.net.http1.messages import Answer, Response
from proreus.server.http.body import BODY_BYTES_MAX
from proreus.server.http.exchange import Exchange
from proreus.server.http.instruments import Instruments
from proreus.server.http.stages.stage import Next
from proreus.server.storage.memory import MemoryStorage
from proreus.server.watch_cache.view import Sink
from proreus.testing.delivery import EventHook, WatchedSink
from proreus.testing.requests import RecordedRequest, Requests


class BreakConnection(Exception):
    """Raised by a hook: the client's connection is reset, and it gets no answer."""


Proceed = Callable[[], Awaitable[Answer]]
RequestHook = Callable[[RecordedRequest, Proceed], Awaitable[Answer]]
"""It finds the whole body of a write in ``asked.body``."""
Stop = Callable[[], None]


class Interception:
    """``instruments`` go into the server; the rest is for the test. ``expire``: ends a watch with
    410; whoever knows the server sets it."""

    def __init__(self, clock: Clock, memory: MemoryStorage | None) -> None:
        self.expire: Callable[[WatchedSink], None] | None = None
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
            if self._request_hooks and asked.is_write:
                await exchange.request.read_ahead(BODY_BYTES_MAX)
            call: Proceed = partial(_proceed, proceed, exchange, asked)
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
        made = self.sinks[asked] = WatchedSink(asked, sink, self._event_hooks, self._expire)
        return made

    def _expire(self, sink: WatchedSink) -> None:
        if self.expire is not None:
            self.expire(sink)


async def _proceed(proceed: Next, exchange: Exchange, asked: RecordedRequest) -> Answer:
    if asked.as_of:
        exchange.read_at(str(asked.as_of))
    return await proceed(exchange)


async def _hooked(hook: RequestHook, asked: RecordedRequest, call: Proceed) -> Answer:
    return await hook(asked, call)


def _discard(hooks: list[RequestHook] | list[EventHook], hook: RequestHook | EventHook) -> None:
    if hook in hooks:
        hooks.remove(hook)  # type: ignore[arg-type]  # it was added to this list
