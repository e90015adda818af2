"""A model of a server with everything that can go wrong, and an informer that must cope.

``Server`` keeps every revision and answers lists and watches by Kubernetes' rules; ``Fault``s
strike open streams and coming requests. Everything runs on a virtual clock, so a history of hours
takes milliseconds and is the same each time.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import AsyncGenerator, AsyncIterator
from dataclasses import dataclass, field
from enum import StrEnum

from proreus.api.object import KubeObject
from proreus.api.object_list import ObjectList
from proreus.api.status import (
    ApiError,
    Expired,
    InternalError,
    ResourceVersionTooLarge,
    TooManyRequests,
)
from proreus.api.wire.framing import WatchEvent
from proreus.client.informer import Handler, Notification, ReflectorConfig, SharedInformer
from proreus.client.rest.calls import ListCall, WatchCall
from proreus.net.client.transport_error import ConnectionLost, ConnectionRefused, TransportError
from proreus.testing.virtual_clock import VirtualClock
from tests.parts import running_part, wait_first

END = "k8s.io/initial-events-end"
PAGE = 2  # objects per page, so that small collections have several


class Fault(StrEnum):
    CUT = "cut"
    CLOSE = "close"
    SILENCE = "silence"
    EXPIRE = "expire"  # an ERROR event 410
    BREAK = "break"  # an ERROR event 500, or bytes that make no sense
    THROTTLE = "throttle"


class Server:
    """One collection: its present, its past, and who watches it."""

    def __init__(self, clock: VirtualClock, *, streams_lists: bool) -> None:
        self.clock = clock
        self.revision = 1
        self.states: dict[int, dict[str, KubeObject]] = {1: {}}
        self.events: list[tuple[int, WatchEvent]] = []
        self.compacted = 0
        self.cache_lag = 0  # how many revisions a list at "0" may be behind
        self.refusals = 0  # so many requests to come meet no server
        self.streams_lists = streams_lists
        self._moved = asyncio.Event()
        self._streams: set[_Stream] = set()

    # What users do.

    @property
    def present(self) -> dict[str, KubeObject]:
        return self.states[self.revision]

    def write(self, name: str) -> None:
        """Create or update."""
        old = self.present.get(f"ns/{name}")
        uid = old.uid if old else f"uid-{self.revision}"
        self._commit("MODIFIED" if old else "ADDED", self._object(name, uid))

    def delete(self, name: str) -> None:
        old = self.present.get(f"ns/{name}")
        if old is not None:
            self._commit("DELETED", self._object(name, old.uid))

    def compact(self) -> None:
        self.compacted = self.revision

    # What goes wrong.

    def strike(self, fault: Fault) -> None:
        for stream in tuple(self._streams):
            stream.fault = fault
            stream.struck.set()

    # ListWatch

    async def list(self, asked: ListCall) -> ObjectList:
        self._reach()
        resource_version, limit = asked.resource_version, asked.limit
        if asked.continue_token:
            at, _, start = asked.continue_token.partition(":")
            return self._page(int(at), start, limit)
        if resource_version == "0":
            return self._page(max(1, self.compacted, self.revision - self.cache_lag), "", 0)
        if resource_version and int(resource_version) > self.revision:
            raise ResourceVersionTooLarge.of(int(resource_version), self.revision, retry_after_s=1)
        return self._page(self.revision, "", limit)

    @contextlib.asynccontextmanager
    async def watch(self, asked: WatchCall) -> AsyncIterator[AsyncIterator[WatchEvent]]:
        self._reach()
        initial = asked.send_initial_events and self.streams_lists
        after = self.revision if initial else int(asked.resource_version or "0")
        if not initial and after < self.compacted:
            raise Expired(f"too old resource version: {after} ({self.compacted})")
        stream = _Stream(self, after, self.clock.monotonic() + asked.timeout_s, initial=initial)
        self._streams.add(stream)
        events = stream.run()
        try:
            yield events
        finally:
            self._streams.discard(stream)
            await events.aclose()

    async def wait_moved(self, after: int) -> None:
        while self.revision <= after:
            await self._moved.wait()

    def _page(self, at: int, start: str, limit: int) -> ObjectList:
        if at < self.compacted:
            raise Expired("The provided continue parameter is too old")
        limit = min(limit, PAGE) if limit else 0
        objects = sorted(self.states[at].items())
        rest = [(key, obj) for key, obj in objects if key >= start]
        page = rest[:limit] if limit else rest
        following = rest[limit][0] if limit and len(rest) > limit else ""
        token = f"{at}:{following}" if following else ""
        return ObjectList([obj for _, obj in page], str(at), token)

    def _reach(self) -> None:
        if self.refusals:
            self.refusals -= 1
            raise ConnectionRefused("https://model", "refused")

    def _object(self, name: str, uid: str) -> KubeObject:
        metadata = {
            "name": name,
            "namespace": "ns",
            "uid": uid,
            "resourceVersion": str(self.revision + 1),
        }
        return KubeObject.from_dict({"apiVersion": "v1", "kind": "Thing", "metadata": metadata})

    def _commit(self, kind: str, obj: KubeObject) -> None:
        state = dict(self.present)
        if kind == "DELETED":
            del state[obj.key]
        else:
            state[obj.key] = obj
        self.revision += 1
        self.states[self.revision] = state
        self.events.append((self.revision, WatchEvent(kind, obj)))
        moved, self._moved = self._moved, asyncio.Event()
        moved.set()


@dataclass(eq=False)
class _Stream:
    """One watch as the server serves it, until its timeout or a fault."""

    server: Server
    after: int
    ends_at: float
    initial: bool
    fault: Fault | None = None
    struck: asyncio.Event = field(default_factory=asyncio.Event)

    async def run(self) -> AsyncGenerator[WatchEvent, None]:
        if self.initial:
            for obj in list(self.server.states[self.after].values()):
                yield WatchEvent("ADDED", obj)
                await asyncio.sleep(0)
                if self.fault:
                    await self._suffer()
                    return
            yield _bookmark(self.after, end=True)
        while True:
            for revision, event in self.server.events:
                if self.fault:
                    break
                if revision > self.after:
                    self.after = revision
                    yield event
                    await asyncio.sleep(0)
            if self.fault:
                await self._suffer()
                return
            if not await self._wait_for_news():
                return
            if self.server.revision == self.after:
                yield _bookmark(self.after)

    async def _wait_for_news(self) -> bool:
        """False when the watch has reached its timeout. A bookmark is due every minute."""
        clock = self.server.clock
        await wait_first(
            self.server.wait_moved(self.server.revision),  # all up to there was sent
            self.struck.wait(),
            clock.sleep(min(60, max(0.1, self.ends_at - clock.monotonic()))),
        )
        return clock.monotonic() < self.ends_at

    async def _suffer(self) -> None:
        failures: dict[Fault, ApiError | TransportError] = {
            Fault.CUT: ConnectionLost("https://model", "reset"),
            Fault.EXPIRE: Expired("too old resource version"),
            Fault.BREAK: InternalError.of("garbage"),
            Fault.THROTTLE: TooManyRequests.of("slow down", 3),
        }
        if self.fault is Fault.SILENCE:
            await asyncio.Event().wait()
        if self.fault in failures:
            raise failures[self.fault]


def _bookmark(revision: int, *, end: bool = False) -> WatchEvent:
    metadata = {"resourceVersion": str(revision), "annotations": {END: "true"} if end else {}}
    return WatchEvent("BOOKMARK", KubeObject.from_dict({"kind": "Thing", "metadata": metadata}))


class Witness:
    """A handler that believes nothing: it checks every notification against the ones before."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.seen: dict[str, KubeObject] = {}
        self.complaints: list[str] = []
        self.heard = 0

    def __call__(self, notification: Notification) -> None:
        self.heard += 1
        key, before = notification.object.key, self.seen.get(notification.object.key)
        if notification.old is None and before is not None:
            self.complaints.append(f"{key} added although known")
        if notification.new is None and before is None:
            self.complaints.append(f"{key} deleted although unknown")
        if (
            notification.old is not None
            and notification.new is not None
            and before is not notification.old
        ):
            self.complaints.append(
                f"{key} updated from {notification.old}, but {before} was last heard of"
            )
        if before is not None and int(notification.object.resource_version) < int(
            before.resource_version
        ):
            self.complaints.append(f"{key} went back from {before} to {notification.object}")
        if notification.final_state_known and not self._existed(notification.object):
            self.complaints.append(f"{notification.object} never existed")
        if notification.new is None:
            self.seen.pop(key, None)
        else:
            self.seen[key] = notification.new

    def _existed(self, obj: KubeObject) -> bool:
        event = next((e for r, e in self.server.events if str(r) == obj.resource_version), None)
        return event is not None and event.object.key == obj.key and event.object.uid == obj.uid


class World:
    """A server, an informer of it, and witnesses that joined at different times."""

    def __init__(self, *, streams_lists: bool, server_streams: bool = True) -> None:
        self.clock = VirtualClock()
        self.server = Server(self.clock, streams_lists=server_streams)
        self.informer = SharedInformer(
            self.server,
            "things",
            config=ReflectorConfig(stream_lists=streams_lists),
            clock=self.clock,
            randomness=random.Random(7),
        )
        self.witnesses: list[Witness] = []
        self.handlers: list[Handler] = []

    def join(self) -> Witness:
        witness = Witness(self.server)
        self.handlers.append(self.informer.add_handler(on_notification=witness))
        self.witnesses.append(witness)
        return witness

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[World]:
        async with running_part(self.informer.run()):
            yield self

    async def recover(self) -> None:
        """Faults have ended; give the longest back-off and the longest silence their time."""
        self.server.refusals = 0
        await self.clock.advance(300)

    @property
    def cached(self) -> dict[str, str]:
        return {obj.key: obj.resource_version for obj in self.informer.indexer.objects()}

    @property
    def served(self) -> dict[str, str]:
        return {key: obj.resource_version for key, obj in self.server.present.items()}
