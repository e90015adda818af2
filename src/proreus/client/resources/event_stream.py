"""A resumable watch: every change of a selection, in order, without a cache of its objects.

    async for event in client.core_v1.pods("default").events():
        print(event.type, event.object.name, …)

Receives: lists and changes, from ``reflector``.  Hands on: ObjectEvent, to who iterates.
It survives what happens to watches as an informer does. Where the server has forgotten the version
to resume from (410), the collection is listed, and the difference to what was reported before comes
as synthetic events.
Full: 1,000 events wait for a slow reader, then no more are read from the server. A list is exempt.
Memory: key, uid and version of every object that was reported and is still there.
"""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator
from dataclasses import dataclass
from typing import Generic, cast

from proreus.aio.clock import Clock
from proreus.aio.gate import Gate
from proreus.aio.tasks import beside
from proreus.api.json_types import JsonObject
from proreus.api.object import KubeObject
from proreus.api.object_type import Object
from proreus.api.status import ApiError, Expired, TooManyRequests
from proreus.api.wire.framing import ADDED, DELETED, MODIFIED
from proreus.client.reflector import ListWatch, Reflector, ReflectorConfig
from proreus.net.client.transport_error import TransportError

WAITING_MAX = 1_000


@dataclass(frozen=True, slots=True)
class ObjectEvent(Generic[Object]):
    """``type`` is ADDED, MODIFIED or DELETED, ``object`` the state after it (before a deletion).

    ``is_synthetic``: made of a list. Several changes may have become one then, and of an object
    that was deleted unseen only the identity is known: kind, name, namespace, uid and the last
    version that was seen.
    """

    type: str
    object: Object
    is_synthetic: bool = False

    def __repr__(self) -> str:
        return f"<{self.type} {self.object!r}{', synthetic' if self.is_synthetic else ''}>"


@dataclass(frozen=True, slots=True)
class _Identity:
    """What is remembered of an object."""

    api_version: str
    kind: str
    namespace: str
    name: str
    uid: str
    resource_version: str

    @classmethod
    def of(cls, obj: KubeObject) -> _Identity:
        return cls(
            obj.api_version, obj.kind, obj.namespace, obj.name, obj.uid, obj.resource_version
        )

    def as_object(self) -> KubeObject:
        metadata: JsonObject = {"name": self.name, "uid": self.uid}
        if self.namespace:
            metadata["namespace"] = self.namespace
        metadata["resourceVersion"] = self.resource_version
        return KubeObject.from_dict(
            {"apiVersion": self.api_version, "kind": self.kind, "metadata": metadata}
        )


@dataclass(frozen=True, slots=True)
class _Step:
    """An event, or nothing; afterwards everything up to ``version`` has been handed out. An empty
    version: there is more to come of a list."""

    event: ObjectEvent | None
    version: str


class _Difference:
    """A reflector's sink that turns lists and changes into events."""

    def __init__(self, since: str) -> None:
        self.handed_out_version = since
        self._has_ended = False
        self._known: dict[str, _Identity] = {}
        self._steps: deque[_Step] = deque()
        self._news = Gate()
        self._room = Gate(is_open=True)

    # The reflector's side.

    def replace(self, objects: list[KubeObject], resource_version: str) -> None:
        listed = {obj.key for obj in objects}
        for key in [key for key in self._known if key not in listed]:
            self._put(DELETED, self._known.pop(key).as_object(), is_synthetic=True)
        for obj in objects:
            old, new = self._known.get(obj.key), _Identity.of(obj)
            if old != new:
                if old is not None and old.uid != new.uid:
                    self._put(DELETED, old.as_object(), is_synthetic=True)
                    old = None
                self._known[obj.key] = new
                self._put(MODIFIED if old else ADDED, obj, is_synthetic=True)
        self.bookmark(resource_version)

    def add(self, obj: KubeObject) -> None:
        self._known[obj.key] = _Identity.of(obj)
        self._put(ADDED, obj, obj.resource_version)

    def update(self, obj: KubeObject) -> None:
        self._known[obj.key] = _Identity.of(obj)
        self._put(MODIFIED, obj, obj.resource_version)

    def delete(self, obj: KubeObject) -> None:
        self._known.pop(obj.key, None)
        self._put(DELETED, obj, obj.resource_version)

    def bookmark(self, resource_version: str) -> None:
        self._append(_Step(None, resource_version))

    @property
    def is_full(self) -> bool:
        return len(self._steps) >= WAITING_MAX

    async def wait_room(self) -> None:
        await self._room.wait_open()

    # The reader's side.

    def end(self) -> None:
        """Nothing more comes."""
        self._has_ended = True
        self._news.open()

    async def take(self) -> _Step | None:
        """The next step, None if there is no more. There is no deadline: a quiet collection is
        healthy."""
        await self._news.wait_open()
        if not self._steps:
            return None
        step = self._steps.popleft()
        if not self._steps and not self._has_ended:
            self._news.shut()
        if len(self._steps) < WAITING_MAX:
            self._room.open()
        return step

    def _put(
        self, kind: str, obj: KubeObject, version: str = "", *, is_synthetic: bool = False
    ) -> None:
        self._append(_Step(ObjectEvent(kind, obj, is_synthetic), version))

    def _append(self, step: _Step) -> None:
        self._steps.append(step)
        self._news.open()
        if self.is_full:
            self._room.shut()


class EventStream(Generic[Object]):
    """Iterate over it, once. Breaking off ends the watch; ``aclose`` does so at once.

    ``resource_version`` is where a later stream goes on (``since``): everything up to it has been
    handed out. It moves with bookmarks too, and is empty until the first list was handed out.
    """

    def __init__(self, selected: ListWatch, name: str, *, since: str, clock: Clock) -> None:
        self._sink = _Difference(since)
        # What a cache of the server says may be older than what the caller has just done.
        config = ReflectorConfig(stream_lists=False, begins_newest=not since, since=since)
        reflector = Reflector(
            selected, self._sink, name=name, config=config, clock=clock, is_final=is_final
        )
        # Not a method: the generator would keep the stream alive, and the stream the generator, so
        # that who breaks off would leave the watch open until the garbage collector comes by.
        self._events = cast(  # of the kind that is listed
            "AsyncGenerator[ObjectEvent[Object], None]", _handed_out(reflector, self._sink)
        )

    @property
    def resource_version(self) -> str:
        return self._sink.handed_out_version

    def __aiter__(self) -> AsyncIterator[ObjectEvent[Object]]:
        return self._events

    async def __anext__(self) -> ObjectEvent[Object]:
        return await anext(self._events)

    async def aclose(self) -> None:
        await self._events.aclose()


async def _handed_out(reflector: Reflector, sink: _Difference) -> AsyncGenerator[ObjectEvent, None]:
    async with beside(reflector.run(), name="events", ended=sink.end) as following:
        while (step := await sink.take()) is not None:
            if step.version:
                sink.handed_out_version = step.version
            if step.event is not None:
                yield step.event
        following.result()


def is_final(failure: ApiError | TransportError) -> bool:
    """What asking again will not change; an expired version and a busy server are none of it."""
    passing = isinstance(failure, TransportError | Expired | TooManyRequests)
    return not passing and isinstance(failure, ApiError) and failure.code < 500
