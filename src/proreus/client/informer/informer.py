"""SharedInformer: one collection of a cluster, mirrored, indexed, and delivered to many handlers.

Receives: deltas, from ``delta_fifo``.  Hands on: objects to ``indexer``, notifications to every
``handler``.
Cost: about 5 µs per event with one handler, beside receiving it.
"""

from __future__ import annotations

import asyncio
import logging
import random
import re
from collections.abc import Callable, Mapping
from typing import Generic, cast

from proreus.aio.backoff import Backoff
from proreus.aio.clock import Clock, SystemClock, deadline
from proreus.aio.gate import Gate, Waterline
from proreus.aio.tasks import as_part, supervise
from proreus.api.group_version import GroupResource
from proreus.api.json_types import JsonObject
from proreus.api.object import KubeObject
from proreus.api.object_type import Object
from proreus.api.status import Timeout
from proreus.client.activity import signed_on
from proreus.client.informer.delta_fifo import Delta, DeltaFifo, DeltaType
from proreus.client.informer.handler import (
    Callbacks,
    ChangeType,
    Handler,
    Notification,
    OnNotification,
    OnObject,
    OnUpdate,
)
from proreus.client.informer.indexer import Indexer, IndexFunction
from proreus.client.informer.lister import Lister
from proreus.client.informer.server_state import ServerStates
from proreus.client.informer.status import InformerStatus
from proreus.client.reflector.list_watch import ListWatch
from proreus.client.reflector.reflector import Reflector, ReflectorConfig, Transform
from proreus.client.reflector.state_machine import Cause

log = logging.getLogger(__name__)

_VERSION = re.compile(r"v\d+((alpha|beta)\d+)?")
_BATCH = 200  # objects applied before others on the loop get their turn


class InformerStopped(RuntimeError):
    """An informer that has been stopped stays so; make a new one."""


class SharedInformer(Generic[Object]):
    """What you may rely on:

    The cache becomes equal to the server's collection and stays so, whatever happens on the way.
    It is updated before a handler is called. Every handler gets each object's states in order;
    states may be skipped while the connection was down, so one update may stand for many. Across
    objects there is no promise. An object deleted unseen is reported as deleted, with its last
    known state; one deleted and made again unseen is one update whose uids differ. A handler added
    late gets every cached object once, then every change. A handler that is slow or
    raises costs only itself. Cached objects cannot be changed.

    ``run`` it in a TaskGroup, or take it from a SharedInformerFactory.
    """

    def __init__(
        self,
        list_watch: ListWatch,
        resource: GroupResource | str,
        *,
        name: str = "",
        indexes: Mapping[str, IndexFunction[Object]] | None = None,
        transform: Transform | None = None,
        config: ReflectorConfig | None = None,
        clock: Clock | None = None,
        randomness: random.Random | None = None,
    ) -> None:
        self.resource = _group_resource(resource)
        # Whether a write of an object is certain to be seen here; set by who knows the selection.
        self.includes: Callable[[KubeObject], bool] = _is_never_certain
        self.name = name or str(self.resource)
        self.namespace = ""  # the one that it is limited to, if there is one
        self.clock = clock or SystemClock()
        self._server_states = ServerStates(list_watch, self.clock)
        self.indexer: Indexer[Object] = Indexer(indexes)
        self._applied = Waterline()
        self.lister = Lister(self.indexer, self._applied, self.resource, clock=self.clock)
        self._fifo = DeltaFifo(self.indexer, clock=self.clock)
        self._reflector = Reflector(
            list_watch,
            self._fifo,
            name=self.name,
            config=config or ReflectorConfig(),
            clock=self.clock,
            transform=transform,
            randomness=randomness,
        )
        self._synced = Gate()
        self._handlers: list[Handler] = []
        self._parts: asyncio.TaskGroup | None = None
        self._is_stopped = False

    # Reading

    @property
    def has_synced(self) -> bool:
        """The cache has held the whole collection once. Says nothing about handlers."""
        return self._synced.is_open

    async def wait_synced(self) -> None:
        """Wait until ``has_synced``; the caller sets a deadline."""
        await self._synced.wait_open()

    async def wait_current(self, *, timeout_s: float = 30.0) -> None:
        """Wait until the cache shows all that the server has now. Raises ApiError, TransportError,
        and ``Timeout`` if it does not come to."""
        try:
            state = await self._server_states.now()
        except ValueError:
            return  # nothing can be known about versions that are no numbers
        await self.lister.wait_for_version(state.newest, timeout_s=timeout_s)
        deleted = {
            one.key: one.uid
            for one in self.indexer.objects()
            if one.uid not in state.uids and int(one.resource_version) <= state.version
        }
        try:
            async with deadline(self.clock, timeout_s):
                while any(
                    (found := self.indexer.get(key)) is not None and found.uid == uid
                    for key, uid in deleted.items()
                ):
                    await self._applied.wait_for(self._applied.level + 1)
        except TimeoutError as late:
            text = f"the cache of {self.resource} still has what is deleted after {timeout_s:g} s"
            raise Timeout(text) from late

    @property
    def raw(self) -> SharedInformer[Object]:
        """Itself: a ``TypedInformer`` stands before one."""
        return self

    def read(self, obj: KubeObject) -> Object:
        """An object of this informer with its type."""
        return cast("Object", obj)  # declared kinds exist for type checkers only

    @property
    def is_running(self) -> bool:
        return self._parts is not None and not self._is_stopped

    def status(self) -> InformerStatus:
        """Its present state."""
        now, statistics = self.clock.monotonic(), self._reflector.statistics
        ended = statistics.requests_ended
        return InformerStatus(
            name=self.name,
            phase="stopped" if self._is_stopped else statistics.phase,
            has_synced=self.has_synced,
            object_count=len(self.indexer),
            resource_version=self._fifo.applied_resource_version,
            last_event_age_s=_age(now, statistics.last_event_at),
            last_bookmark_age_s=_age(now, statistics.last_bookmark_at),
            last_contact_age_s=_age(now, statistics.last_contact_at),
            lag_s=self._fifo.lag_s,
            queued_deltas=self._fifo.delta_count,
            relists=max(0, statistics.lists_received - 1),
            reconnects=ended.total(),
            reconnect_causes={cause.value: ended[cause] for cause in Cause if ended[cause]},
            last_failure=statistics.last_failure,
            restarts=statistics.restarts,
            handlers=tuple(handler.status() for handler in self._handlers),
        )

    def describe(self) -> JsonObject:
        """What it is doing, as the debug pages show it (docs/debug.md)."""
        status = self.status()
        return {
            "name": status.name,
            "resource": str(self.resource),
            "namespace": self.namespace,
            "phase": status.phase,
            "synced": status.has_synced,
            "resourceVersion": status.resource_version,
            "queueLength": status.queued_deltas,
            "lagSeconds": status.lag_s,
            "objects": status.object_count,
            "lastContactSeconds": status.last_contact_age_s,
            "handlers": [{"name": one.name, "behind": one.pending} for one in status.handlers],
        }

    # Configuring, before or after start

    def add_handler(
        self,
        on_add: OnObject[Object] | None = None,
        on_update: OnUpdate[Object] | None = None,
        on_delete: OnObject[Object] | None = None,
        *,
        on_notification: OnNotification[Object] | None = None,
        resync_s: float = 0.0,
        name: str = "",
        is_immediate: bool = False,
    ) -> Handler:
        """Call these functions (plain or async) for every change, beginning with all objects that
        are cached. A plain function must not block: it would hold up the loop.

        ``resync_s`` reminds it of every object once per period (``on_update`` with both states the
        same); 0: never. ``is_immediate``: a plain ``on_notification`` alone, which takes note and
        does no more, as a queue of keys does, is called in the turn that applies a change. Raises
        InformerStopped.
        """
        if self._is_stopped:
            raise InformerStopped(f"the informer of {self.name} has been stopped")
        handler = Handler(
            name or f"{self.name} {len(self._handlers) + 1}",
            Callbacks(on_add, on_update, on_delete, on_notification),
            clock=self.clock,
            resync_s=resync_s,
            upstream=self._synced,
            objects=self.indexer.objects,
            is_immediate=is_immediate,
        )
        # No await from here to the end: the snapshot and the registration are atomic, so the
        # handler misses nothing and hears nothing twice.
        for obj in self.indexer.objects():
            handler.notify(Notification(ChangeType.ADD, None, obj, is_initial=True))
        self._handlers = [*self._handlers, handler]  # who is told at once may register others
        self._start(handler)
        return handler

    def remove_handler(self, handler: Handler) -> None:
        """Tell it nothing more; what waits is dropped, a call under way ends by itself. Twice is
        fine. Raises ValueError for another informer's handler."""
        if handler in self._handlers:
            self._handlers = [one for one in self._handlers if one is not handler]
            handler.remove()
        elif not handler.is_removed:
            raise ValueError(f"{handler!r} is not a handler of the informer of {self.name}")

    def add_indexes(self, indexes: Mapping[str, IndexFunction[Object]]) -> None:
        """Index what is cached and what comes. Raises IndexExists, InformerStopped."""
        if self._is_stopped:
            raise InformerStopped(f"the informer of {self.name} has been stopped")
        self.indexer.add_indexes(indexes)

    def ensure_indexes(self, indexes: Mapping[str, IndexFunction[Object]]) -> None:
        """Like ``add_indexes``, but an index that is there already with the same function is fine;
        one with another function raises IndexExists."""
        missing = self.indexer.missing_indexes(indexes)
        if missing:
            self.add_indexes(missing)

    # Running

    async def run(self) -> None:
        """Until cancelled. Once only."""
        if self._parts is not None:
            raise RuntimeError(f"the informer of {self.name} runs already, or has run")
        try:
            with signed_on(self, "informers"):
                await self._run()
        finally:
            self._is_stopped = True
            for handler in self._handlers:
                handler.remove()

    async def _run(self) -> None:
        async with asyncio.TaskGroup() as parts:
            self._parts = parts
            for handler in self._handlers:
                self._start(handler)
            await supervise(
                f"informer {self.name}",
                self._mirror,
                clock=self.clock,
                backoff=Backoff(self.clock),
                died=self._died,
            )

    def _start(self, handler: Handler) -> None:
        if self._parts is not None:
            self._parts.create_task(handler.run(), name=f"handler {handler.name}")

    async def _mirror(self) -> None:
        """Fetching and applying live and die together: started again, the reflector begins with
        the whole collection, so nothing that was in between is lost."""
        async with asyncio.TaskGroup() as pair:
            pair.create_task(as_part(self._reflector.run), name=f"reflector {self.name}")
            pair.create_task(as_part(self._apply_deltas), name=f"deltas {self.name}")

    def _died(self, part: str, why: BaseException | None, delay_s: float) -> None:
        self._reflector.statistics.restarts += 1
        log.error("part died, restarting: part=%s delay_s=%.1f", part, delay_s, exc_info=why)

    async def _apply_deltas(self) -> None:
        fifo = self._fifo
        while True:
            await fifo.wait_news()
            for _ in range(min(_BATCH, len(fifo))):
                fifo.pop(self._apply)
            self._note_progress()
            await asyncio.sleep(0)

    def _note_progress(self) -> None:
        version = self._fifo.applied_resource_version
        if version.isdecimal():
            self._applied.rise_to(int(version))
        if self._fifo.has_synced and not self._synced.is_open:
            log.info("synced: resource=%s objects=%d", self.name, len(self.indexer))
            self._synced.open()

    def _apply(self, key: str, deltas: list[Delta], is_initial: bool) -> None:
        """Cache first, then tell. What a delta says matters less than what the cache holds: an
        ADDED for a known object is an update, a Replaced may be either or nothing."""
        for delta in deltas:
            if delta.type is DeltaType.DELETED:
                if self.indexer.remove(key) is not None:
                    known = delta.final_state_known
                    self._notify(
                        Notification(ChangeType.DELETE, delta.object, None, final_state_known=known)
                    )
                continue
            old = self.indexer.get(key)
            if old is None:
                self.indexer.put(key, delta.object)  # type: ignore[arg-type]  # it lists its kind
                self._notify(
                    Notification(ChangeType.ADD, None, delta.object, is_initial=is_initial)
                )
            elif not _is_same_version(old, delta.object):
                self.indexer.put(key, delta.object)  # type: ignore[arg-type]  # it lists its kind
                self._notify(Notification(ChangeType.UPDATE, old, delta.object))

    def _notify(self, notification: Notification) -> None:
        for handler in self._handlers:
            handler.notify(notification)

    def __repr__(self) -> str:
        state = "synced" if self.has_synced else "not synced"
        return f"<SharedInformer of {len(self.indexer)} {self.name}, {state}>"


def _is_same_version(old: KubeObject, new: KubeObject) -> bool:
    """A relist repeats what has not changed; that is not news, and the copy at hand is kept."""
    version = new.resource_version
    return bool(version) and old.resource_version == version and old.uid == new.uid


def _is_never_certain(_: KubeObject) -> bool:
    return False


def _age(now: float, at: float | None) -> float | None:
    return None if at is None else now - at


def _group_resource(resource: GroupResource | str) -> GroupResource:
    """Of a name as kubectl takes it: ``pods``, ``deployments.apps``, ``widgets.v1.example.com``."""
    if isinstance(resource, GroupResource):
        return resource
    name, _, group = resource.partition(".")
    version, _, rest = group.partition(".")
    return GroupResource(rest if _VERSION.fullmatch(version) else group, name)
