"""Faults as verbs: what goes wrong in clusters, said in a line.

    async def test_a_website_is_served(server):
        server.fail("patch", "websites/status", Conflict, times=1)
        server.fail("create", "pods", Timeout, applied=True)  # it happened; the answer was lost
        server.freeze_watch("websites", user_agent="website-operator")

Every verb takes whom it strikes: the verb or HTTP method, the resource, ``name``, ``namespace``,
``user_agent`` and ``user`` (``requests.Which``). Each returns a ``Fault``, which lasts until it has
struck ``times`` times, until it is stopped, or to the end of its ``with``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import TYPE_CHECKING, TypedDict, Unpack

from proreus.aio.clock import Clock
from proreus.api.status import ApiError, Expired, InternalError, Invalid, TooManyRequests
from proreus.api.wire.query import Query, first, parse_query
from proreus.net.http1.messages import Answer, Pieces, Response
from proreus.testing.delivery import Delivery, EventHook, SentEvent, WatchedSink
from proreus.testing.interception import BreakConnection, Interception, Proceed, RequestHook, Stop
from proreus.testing.requests import RecordedRequest, Which
from proreus.testing.virtual_clock import seconds

if TYPE_CHECKING:
    from proreus.server.app import ApiServer

Failure = type[ApiError] | ApiError | type[BreakConnection]
_INJECTED = "injected by the test"


class FaultScope(TypedDict, total=False):
    """Whom a fault strikes, beside the verb and the resource: patterns, ``*`` by default."""

    name: str
    namespace: str
    user_agent: str
    user: str


class Fault:
    """One that was asked for; ``struck`` are the requests, or watches, that it has met."""

    def __init__(self, which: Which, times: int | None) -> None:
        self.which = which
        self.struck: list[RecordedRequest] = []
        self._left = times
        self._stops: list[Stop] = []

    def when_stopped(self, stop: Stop) -> None:
        self._stops.append(stop)

    def strikes(self, asked: RecordedRequest) -> bool:
        """Whether this one is meant; if so, it counts."""
        if self._left == 0 or not self.which.matches(asked):
            return False
        if self._left is not None:
            self._left -= 1
        self.struck.append(asked)
        return True

    def stop(self) -> None:
        """From now on everything is as it should be. Twice is fine."""
        self._left = 0
        stops, self._stops = self._stops, []
        for stop in stops:
            stop()

    def __enter__(self) -> Fault:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def __repr__(self) -> str:
        left = "" if self._left is None else f", {self._left} left"
        return f"<Fault for {self.which}: struck {len(self.struck)} times{left}>"


class FaultVerbs:
    """The verbs of a ``RunningServer``."""

    @property
    def interception(self) -> Interception:
        raise AttributeError("part of a RunningServer, which has it")

    @property
    def api(self) -> ApiServer:
        raise AttributeError("part of a RunningServer, which has it")

    @property
    def clock(self) -> Clock:
        raise AttributeError("part of a RunningServer, which has it")

    def fail(
        self,
        verb: str,
        resource: str = "*",
        error: Failure = InternalError,
        *,
        times: int | None = None,
        applied: bool = False,
        **scope: Unpack[FaultScope],
    ) -> Fault:
        """Requests fail with ``error``: a class or an instance of ``api.status``, or
        ``BreakConnection``, which resets the connection. With ``applied`` they have happened
        before: only their answer is lost."""

        async def refuse(proceed: Proceed) -> Answer:
            if applied:
                await proceed()
            raise error if isinstance(error, Exception) else error(_INJECTED)

        return self._struck(verb, resource, times, scope, refuse)

    def delay(
        self,
        verb: str,
        resource: str,
        duration: float | str,
        *,
        times: int | None = None,
        **scope: Unpack[FaultScope],
    ) -> Fault:
        """Requests wait so long, on the server's clock, before they are looked at."""

        async def wait(proceed: Proceed) -> Answer:
            await self.clock.sleep(seconds(duration))
            return await proceed()

        return self._struck(verb, resource, times, scope, wait)

    def throttle(
        self,
        verb: str = "*",
        resource: str = "*",
        *,
        retry_after_s: int = 1,
        times: int | None = None,
        **scope: Unpack[FaultScope],
    ) -> Fault:
        """Requests are refused with 429 and are to come again after so long."""
        busy = TooManyRequests.of("too many requests, " + _INJECTED, retry_after_s)
        return self.fail(verb, resource, busy, times=times, **scope)

    def partial_response(
        self, verb: str, resource: str = "*", *, times: int | None = 1, **scope: Unpack[FaultScope]
    ) -> Fault:
        """The answer breaks off in the middle of its body."""

        async def half(proceed: Proceed) -> Answer:
            answer = await proceed()
            if not isinstance(answer, Response) or not isinstance(answer.body, bytes):
                raise BreakConnection
            return answer._replace(body=Pieces(len(answer.body), _first_half(answer.body)))

        return self._struck(verb, resource, times, scope, half)

    # Watches

    def expire_watches(self, resource: str = "*", **scope: Unpack[FaultScope]) -> int:
        """End watches with 410, and forget the past: who resumes from before must list again.
        Returns how many watches there were."""
        return self._end_watches(resource, scope, self._forgotten())

    def end_watches(self, resource: str = "*", **scope: Unpack[FaultScope]) -> int:
        """End watches as a server does when their time is up. Returns how many there were."""
        return self._end_watches(resource, scope, None)

    def drop_watch_events(
        self,
        resource: str = "*",
        *,
        types: tuple[str, ...] = ("ADDED", "MODIFIED", "DELETED"),
        times: int | None = None,
        **scope: Unpack[FaultScope],
    ) -> Fault:
        """Events are not sent; what comes later is, so that they are never seen. ``name`` and
        ``namespace`` are those of the object."""
        return self._struck_events(resource, times, scope, types, Delivery.DROP)

    def freeze_watch(self, resource: str = "*", **scope: Unpack[FaultScope]) -> Fault:
        """Watches show nothing more, bookmarks included: their view grows old. Stopped, the fault
        lets out what was held."""
        which = Which("watch", resource, **scope)
        fault = Fault(which, None)
        frozen: set[RecordedRequest] = set()

        def hold(asked: RecordedRequest, event: SentEvent) -> Delivery:
            if asked not in frozen and not fault.strikes(asked):
                return Delivery.PASS
            frozen.add(asked)
            return Delivery.HOLD

        fault.when_stopped(self.interception.on_watch_event(hold))
        fault.when_stopped(lambda: self.release_watches(frozen))
        return fault

    def stale_reads(
        self, resource: str = "*", *, as_of: int | None = None, **scope: Unpack[FaultScope]
    ) -> Fault:
        """The API server that answers is behind: lists that take any version, or one from before,
        show the revision ``as_of`` (by default the present one), lists cannot be streamed, and
        watches show nothing more. Stopped, it has caught up. A list without a version is current,
        as everywhere."""
        revision = self.api.parts.caches.revision if as_of is None else as_of
        fault = Fault(Which("read", resource, **scope), None)

        async def read(asked: RecordedRequest, proceed: Proceed) -> Answer:
            if asked.verb in ("list", "watch") and fault.which.matches(asked):
                query = parse_query(asked.query)
                if asked.verb == "list" and _may_be_as_of(query, revision) and fault.strikes(asked):
                    asked.as_of = revision
                elif asked.verb == "watch" and first(query, "sendInitialEvents") == "true":
                    # As servers answer that cannot stream lists; then clients list at version 0.
                    raise Invalid(f"sendInitialEvents is forbidden for watch, {_INJECTED}")
            return await proceed()

        frozen = self.freeze_watch(resource, **scope)
        fault.when_stopped(self.interception.intercept(read))
        fault.when_stopped(frozen.stop)
        return fault

    def release_watches(self, which: set[RecordedRequest] | None = None) -> None:
        """Send what watches hold back, those that are named or all."""
        for asked, sink in list(self.interception.sinks.items()):
            if which is None or asked in which:
                sink.release()

    def heal(self) -> None:
        """Stop every fault."""
        self.interception.forget_hooks()

    # Your own

    def intercept(self, hook: RequestHook) -> Stop:
        """Call ``hook(asked, proceed)`` for every request that was let in; it returns the answer,
        by ``await proceed()`` or its own, or raises an error of ``api.status`` or
        ``BreakConnection``. What is returned takes the hook away."""
        return self.interception.intercept(hook)

    def on_watch_event(self, hook: EventHook) -> Stop:
        """Call ``hook(asked, event)`` for every event before it is sent; it says what becomes of
        it (``delivery.Delivery``), or returns the line to send instead."""
        return self.interception.on_watch_event(hook)

    # How it works

    def _struck(
        self,
        verb: str,
        resource: str,
        times: int | None,
        scope: FaultScope,
        how: Callable[[Proceed], object],
    ) -> Fault:
        fault = Fault(Which(verb, resource, **scope), times)

        async def hook(asked: RecordedRequest, proceed: Proceed) -> Answer:
            if not fault.strikes(asked):
                return await proceed()
            return await how(proceed)  # type: ignore[misc, no-any-return]  # of the verbs above

        fault.when_stopped(self.interception.intercept(hook))
        return fault

    def _struck_events(
        self,
        resource: str,
        times: int | None,
        scope: FaultScope,
        types: tuple[str, ...],
        verdict: Delivery,
    ) -> Fault:
        of_object = Which(name=scope.get("name", "*"), namespace=scope.get("namespace", "*"))
        by = Which("watch", resource, user_agent=scope.get("user_agent", ""),
                   user=scope.get("user", ""))  # fmt: skip
        fault = Fault(by, times)

        def hook(asked: RecordedRequest, event: SentEvent) -> Delivery:
            is_meant = event.type in types and of_object.is_named(event.name, event.namespace)
            return verdict if is_meant and fault.strikes(asked) else Delivery.PASS

        fault.when_stopped(self.interception.on_watch_event(hook))
        return fault

    def _end_watches(self, resource: str, scope: FaultScope, why: ApiError | None) -> int:
        which = Which("watch", resource, **scope)
        sinks = self.interception.sinks.items()
        return self._end_sinks({id(sink) for asked, sink in sinks if which.matches(asked)}, why)

    def _end_sinks(self, identities: set[int], why: ApiError | None) -> int:
        found = [one for one in self.api.parts.caches.subscribers() if id(one.sink) in identities]
        for subscriber in found:
            subscriber.end(_INJECTED, why.status if why is not None else None)
        return len(found)

    def _forgotten(self) -> ApiError:
        """Some clients try to resume once more after a 410: they get it again."""
        revision = self.api.parts.caches.forget_past()
        return Expired(f"too old resource version, {_INJECTED} (now {revision})")

    def _expire_soon(self, sink: WatchedSink) -> None:
        """Not at once: who writes to it may be iterating over all watchers."""

        def end() -> None:
            sink.release()
            self._end_sinks({id(sink)}, self._forgotten())

        asyncio.get_running_loop().call_soon(end)


def _may_be_as_of(query: Query, revision: int) -> bool:
    """Whether a server that has not seen more may answer such a list."""
    version = first(query, "resourceVersion")
    is_exact = first(query, "resourceVersionMatch") == "Exact" or "continue" in query
    return version.isdecimal() and int(version) <= revision and not is_exact


def _first_half(body: bytes) -> Iterator[bytes]:
    yield body[: len(body) // 2]
    raise ConnectionResetError(_INJECTED)
