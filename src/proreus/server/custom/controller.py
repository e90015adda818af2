"""The controller of definitions: accepts names, serves kinds, cleans up after deletion.

    watch cache of definitions → Changes (names) → one definition at a time:
      names decided, kind served, status written, in this order: who sees Established=True
      finds the kind served; of one that is deleted the instances go then, and its finalizer

Level-triggered: it looks at the present state of a definition, not at events, so several servers on
one store come to the same end; status is written by compare-and-swap.
"""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any

import structlog

from proreus.aio.clock import Clock
from proreus.api.group_version import GroupVersionKind
from proreus.api.json_types import JsonObject
from proreus.api.status import ApiError, NotFound, TooManyRequests
from proreus.api.wire import splice
from proreus.api.wire.options import DeleteOptions
from proreus.server.custom.definition import conditions
from proreus.server.custom.definition.changed_keys import ChangedKeys, KeyView
from proreus.server.custom.definition.definition_status import (
    DefinitionStatus,
    faults,
    is_definition,
)
from proreus.server.custom.definition.deletion import FINALIZER, without_finalizer
from proreus.server.custom.definition.known import KnownDefinitions
from proreus.server.custom.serving.kind import CustomKind
from proreus.server.custom.serving.kinds import CustomKinds
from proreus.server.key_queue import KeyQueue, KeyQueues
from proreus.server.offload import Lane
from proreus.server.registry.admission import Admission
from proreus.server.registry.collection import Collection
from proreus.server.registry.tracking import track
from proreus.server.registry.user import SYSTEM
from proreus.server.registry.verbs.delete import Delete
from proreus.server.registry.write import Write
from proreus.server.storage.interface import KeyNotFound, StorageError, StoredValue
from proreus.server.storage.resource_store import Preconditions
from proreus.server.watch_cache.object import CachedObject
from proreus.server.watch_cache.query import AnyState, ListQuery, WatchQuery

_log = structlog.get_logger(__name__)
_DEFINITION = GroupVersionKind("apiextensions.k8s.io", "v1", "CustomResourceDefinition")
_FIELD_MANAGER = "kube-apiserver"  # as programs know it from other clusters
_IN_PROGRESS = ("InstanceDeletionInProgress", "CustomResource deletion is in progress")
_LOOK_AGAIN_S = 0.5  # while instances with finalizers hold up a deletion


class DefinitionController:
    """``start`` before requests are taken, ``run`` beside them."""

    def __init__(
        self,
        definitions: Collection,
        kinds: CustomKinds,
        clock: Clock,
        lane: Lane,
        queues: KeyQueues,
    ) -> None:
        self._definitions = definitions
        self._kinds = kinds
        self._clock = clock
        self._lane = lane
        self._changes: KeyQueue[str] = queues.named("crd_naming_condition_controller")
        self._known = KnownDefinitions()
        self._status = DefinitionStatus()
        self._unchecked: KeyQueue[str] = queues.named("non_structural_schema_condition_controller")
        self._waiting: set[str] = set()  # definitions whose instances are not gone yet
        self._settled: dict[str, int] = {}  # at which revision there was nothing left to do

    async def start(self) -> None:
        """Serve what was defined before, all at once: caches fill side by side."""
        listing = await self._definitions.cache.list(ListQuery())
        for found in listing.objects:
            obj = _decoded(found)
            if not is_definition(obj):
                _log.error("stored definition is none and is not served", definition=found.name)
                continue
            self._known.put(found.name, obj)
            self._unchecked.add(found.name)
            if conditions.is_true(obj, conditions.NAMES_ACCEPTED) and not _is_deleting(obj):
                self._settled[found.name] = found.revision
        established = [
            self._prepared(obj)
            for obj in self._known.objects()
            if conditions.is_true(obj, conditions.ESTABLISHED)
        ]
        for kind in established:
            if kind is not None:
                await self._kinds.wait_ready(kind)
                self._kinds.publish(kind)

    async def run(self) -> None:
        """For ever: a watch that ends is begun again."""
        async with asyncio.TaskGroup() as parts:
            parts.create_task(self._follow(), name="custom resources: follow definitions")
            parts.create_task(
                self._check_stored(), name="custom resources: check stored definitions"
            )
            parts.create_task(self._work(), name="custom resources: work on definitions")

    async def _check_stored(self) -> None:
        """Check stored definitions against the rules, after they are served, one at a time."""
        while True:
            await self._unchecked.wait_any()
            for name in self._unchecked.take():
                obj = self._known.get(name)
                if obj is None:
                    continue
                try:
                    with self._unchecked.working():
                        wrong = await self._lane.run(partial(faults, obj))
                except TooManyRequests:
                    self._unchecked.retry(name)
                    await self._clock.sleep(_LOOK_AGAIN_S)
                    continue
                if name in self._known and self._status.note(obj, wrong):
                    self._settled.pop(name, None)
                    self._changes.add(name)

    async def _follow(self) -> None:
        sink = ChangedKeys(self._changes)
        while True:
            try:
                query = WatchQuery(state=AnyState(), send_initial=True)
                subscriber = await self._definitions.cache.watch(query, KeyView(), sink)
            except ApiError:
                await self._clock.sleep(_LOOK_AGAIN_S)
                continue
            try:
                await subscriber.wait_closed()
            finally:
                subscriber.close()
            # The new watch does not report what was deleted meanwhile.
            for name in self._known:
                self._changes.add(name)

    async def _work(self) -> None:
        while True:
            await self._wait()
            for name in [*self._changes.take(), *self._waiting]:
                try:
                    with self._changes.working():
                        await self._reconcile(name)
                except (ApiError, StorageError):
                    # Storage or a race: the definition is looked at again.
                    self._changes.count_retry()
                    self._waiting.add(name)
                except Exception:  # an unforeseen definition must not end the others
                    _log.exception("definition could not be worked on", definition=name)

    async def _wait(self) -> None:
        if not self._waiting:
            await self._changes.wait_any()
            return
        async with asyncio.TaskGroup() as either:
            changed = either.create_task(self._changes.wait_any())
            later = either.create_task(self._clock.sleep(_LOOK_AGAIN_S))
            await asyncio.wait((changed, later), return_when=asyncio.FIRST_COMPLETED)
            changed.cancel()
            later.cancel()

    async def _reconcile(self, name: str) -> None:
        self._waiting.discard(name)
        found = self._definitions.cache.peek(name)
        if found is not None and self._settled.get(name) == found.revision:
            return
        if found is None:
            gone = self._known.pop(name)
            self._settled.pop(name, None)
            self._status.forget(name)
            self._kinds.withdraw(name)
            if gone is not None:
                self._retry_refused(gone)
            return
        obj = _decoded(found)
        if not is_definition(obj):
            self._settled[name] = found.revision
            _log.error("stored definition is none and is not served", definition=name)
            return
        before = self._known.get(name)
        self._known.put(name, obj)
        if before is not None and before["metadata"].get("uid") != obj["metadata"].get("uid"):
            self._kinds.withdraw(name)
        status = self._status.status(obj, self._known.holders(obj), self._clock.now())
        decided = {**obj, "status": status}
        if conditions.is_true(decided, conditions.ESTABLISHED):
            await self._serve(decided)
        if status != obj.get("status"):
            await self._write(name, obj["metadata"]["uid"], status)
        elif not _is_to_be_emptied(obj):
            self._settled[name] = found.revision
        if not self._status.is_checked(obj):
            self._unchecked.add(name)
        if before is not None and _names(before) != _names(decided):
            self._retry_refused(obj)
        if _is_to_be_emptied(obj):
            await self._finalize(decided)

    async def _serve(self, obj: JsonObject) -> None:
        if self._kinds.is_current(obj):
            return
        if (kind := self._prepared(obj)) is not None:
            await self._kinds.wait_ready(kind)
            self._kinds.publish(kind)

    def _prepared(self, obj: JsonObject) -> CustomKind | None:
        """None for a definition that cannot be served: it must not take the others down."""
        try:
            return self._kinds.prepare(obj, _revision(obj))
        except Exception:  # stored past validation, by another program or an older version
            name = obj["metadata"].get("name")
            _log.exception("definition cannot be served", definition=name)
            return None

    def _retry_refused(self, obj: JsonObject) -> None:
        """Names became free: others of the group may want them."""
        for name in self._known.refused(obj):
            self._settled.pop(name, None)
            self._changes.add(name)

    async def _write(self, name: str, uid: str, status: JsonObject) -> None:
        collection = self._definitions
        seen = self._known.get(name)
        assert seen is not None, "only what is known is written"

        async def update(current: StoredValue | None) -> bytes:
            assert current is not None, "a missing key is an error before"
            obj = collection.decode(current)
            if obj["spec"] != seen["spec"]:
                return splice.stored_from_object(obj)
            stored = (obj.get("status") or {}).get("storedVersions")
            return self._with_status(obj, {**status, "storedVersions": stored})

        try:
            done = await collection.store.guaranteed_update(
                name,
                update,
                preconditions=Preconditions(uid=uid),
                cached=collection.suggested(name),
            )
        except KeyNotFound:
            return
        self._known.put(name, collection.decode(done.new))

    def _with_status(self, obj: JsonObject, status: JsonObject) -> bytes:
        """As stored. The conditions are the server's, as field managers go."""
        name, now = obj["metadata"]["name"], self._clock.now()
        write = Write.of_server(self._definitions, "", name, now, _FIELD_MANAGER)
        write.subresource = "status"
        made = {**obj, "metadata": {**obj["metadata"]}, "status": status}
        track(write, obj, made)
        return splice.stored_from_object(made)

    async def _finalize(self, obj: JsonObject) -> None:
        name = obj["metadata"]["name"]
        ended = ("NeverEstablished", "resource was never established")
        if conditions.is_true(obj, conditions.ESTABLISHED):
            condition = conditions.find(obj, conditions.TERMINATING) or {}
            if condition.get("reason") != _IN_PROGRESS[0]:
                status = {**obj["status"]}
                conditions.put(status, self._terminating(True, *_IN_PROGRESS))
                await self._write(name, obj["metadata"]["uid"], status)
            if not await self._delete_instances(name):
                self._waiting.add(name)
                return
            ended = ("InstanceDeletionCompleted", "removed all instances")
        await self._finish(name, obj["metadata"]["uid"], self._terminating(False, *ended))

    def _terminating(self, holds: bool, reason: str, message: str) -> dict[str, str]:
        now = self._clock.now()
        return conditions.make(conditions.TERMINATING, holds, reason, message, now)

    async def _delete_instances(self, name: str) -> bool:
        """Whether none is left."""
        collection = self._kinds.collection(name)
        if collection is None:
            return True
        for found in (await collection.cache.list(ListQuery())).objects:
            if b'"deletionTimestamp"' in found.item:
                continue
            write = Write(
                collection=collection,
                namespace=found.namespace,
                name=found.name,
                user=SYSTEM,
                now=self._clock.now(),
                field_manager="proreus",
                admission=Admission(),
            )
            try:
                await Delete(write, DeleteOptions()).commit()
            except NotFound:
                continue
        return not (await collection.cache.list(ListQuery(limit=1))).objects

    async def _finish(self, name: str, uid: str, ended: dict[str, str]) -> None:
        """Take the finalizer off; without another one the definition goes."""
        store = self._definitions.store
        held = True

        async def update(current: StoredValue | None) -> bytes:
            nonlocal held
            assert current is not None, "a missing key is an error before"
            obj = self._definitions.decode(current)
            without_finalizer(obj)
            held = bool(obj["metadata"].get("finalizers"))
            status = {**(obj.get("status") or {})}
            conditions.put(status, ended)
            return self._with_status(obj, status) if held else current.value

        wanted = Preconditions(uid=uid)
        try:
            await store.guaranteed_update(name, update, preconditions=wanted)
            if not held:
                await store.delete(name, preconditions=wanted)
        except KeyNotFound:
            return

    def __repr__(self) -> str:
        return f"<DefinitionController of {len(self._known)} definitions, {self._kinds!r}>"


def _decoded(found: CachedObject) -> JsonObject:
    obj: dict[str, Any] = splice.decode_item(found.item)
    return {**obj, "kind": _DEFINITION.kind, "apiVersion": _DEFINITION.api_version}


def _is_deleting(obj: JsonObject) -> bool:
    return bool(obj["metadata"].get("deletionTimestamp"))


def _is_to_be_emptied(obj: JsonObject) -> bool:
    return _is_deleting(obj) and FINALIZER in (obj["metadata"].get("finalizers") or ())


def _revision(obj: JsonObject) -> int:
    return int(obj["metadata"]["resourceVersion"])


def _names(obj: JsonObject) -> Any:
    return (obj.get("status") or {}).get("acceptedNames")
