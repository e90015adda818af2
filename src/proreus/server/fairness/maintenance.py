"""Makes the schemas and levels that every cluster has, keeps the mandatory ones, writes statuses.

At the start what is missing is made, and what carries ``autoupdate-spec: "true"`` gets the spec it
should have. From then on mandatory objects that were deleted are made again, and every schema says
in its condition ``Dangling`` whether its level exists. Several servers may do so on one store: who
comes second finds the work done.
"""

from __future__ import annotations

import asyncio

import structlog

from proreus.aio.clock import Clock
from proreus.api.json_types import Json, JsonObject
from proreus.api.status import AlreadyExists, ApiError, Conflict, NotFound
from proreus.api.values.timestamp import format_time
from proreus.api.wire import splice
from proreus.server.fairness.fairness import Fairness
from proreus.server.kinds.parts.flow_control import (
    AUTO_UPDATE,
    GROUP,
    MANDATORY,
    SCHEMA_KIND,
    bootstrap_objects,
)
from proreus.server.registry.collection import Collection, UnreadableObject
from proreus.server.registry.collections import Collections
from proreus.server.registry.verbs.create import create
from proreus.server.registry.verbs.update import update
from proreus.server.registry.write import Write
from proreus.server.storage.interface import StorageError

_log = structlog.get_logger(__name__)
_RETRY_S = 10.0
_DANGLING = "Dangling"
_FIELD_MANAGER = "api-priority-and-fairness-config-producer-v1"


class FlowControlObjects:
    """See the module. ``note_change`` is to be called when a schema or level has changed."""

    def __init__(self, collections: Collections, fairness: Fairness, clock: Clock) -> None:
        self._schemas = collections.named(GROUP, "v1", "flowschemas")
        self._levels = collections.named(GROUP, "v1", "prioritylevelconfigurations")
        self._fairness = fairness
        self._clock = clock
        self._changed = asyncio.Event()

    def note_change(self) -> None:
        self._changed.set()

    async def ensure(self) -> None:
        """All at once: storage commits what is written together in one go."""
        expected = list(bootstrap_objects())
        async with asyncio.TaskGroup() as writes:
            for obj in expected:
                writes.create_task(self._ensure(obj))
        async with asyncio.TaskGroup() as writes:
            for obj in expected:
                if obj["kind"] == SCHEMA_KIND:
                    writes.create_task(self._set_first_status(obj["metadata"]["name"]))

    async def _set_first_status(self, name: str) -> None:
        """Before the caches, so that a new server's first events are its users'."""
        stored = await self._schemas.store.get(self._schemas.key("", name))
        if stored is None:
            return
        try:
            obj = self._schemas.decode(stored)
        except UnreadableObject:
            return  # ``_ensure`` has logged it
        if not (obj.get("status") or {}).get("conditions"):
            await self._set_status(obj, dangling_status(obj, True, self._clock.now()))

    async def run(self) -> None:
        while True:
            await self._changed.wait()
            self._changed.clear()
            try:
                await self._keep()
            except (ApiError, StorageError) as why:
                _log.warning("flow control objects are not up to date", error=str(why))
                await self._clock.sleep(_RETRY_S)
                self._changed.set()

    async def _keep(self) -> None:
        for expected in bootstrap_objects():
            if expected["metadata"]["name"] in MANDATORY:
                await self._ensure(expected)
        for found in self._schemas.cache.peek_all() or ():
            if not self._schemas.cache.is_readable(found):
                continue  # the cache has logged it
            obj: JsonObject = splice.decode_item(found.item)
            exists = self._fairness.has_level(obj["spec"]["priorityLevelConfiguration"]["name"])
            await self._set_status(obj, dangling_status(obj, exists, self._clock.now()))

    async def _set_status(self, obj: Json, status: JsonObject | None) -> None:
        if status is None:
            return
        write = self._write(self._schemas, obj["metadata"]["name"], "status")
        try:
            await update(write, {**self._header(obj), "status": status})
        except (NotFound, Conflict):
            self._changed.set()  # it has changed meanwhile: look again

    async def _ensure(self, expected: JsonObject) -> None:
        collection = self._schemas if expected["kind"] == SCHEMA_KIND else self._levels
        name = expected["metadata"]["name"]
        write = self._write(collection, name)
        stored = await collection.store.get(collection.key("", name))
        try:
            if stored is None:
                await create(write, expected)
                return
            existing = collection.decode(stored)
            wanted = reconciled(existing, expected)
            if wanted is not None:
                await update(write, wanted)
        except (AlreadyExists, NotFound, Conflict):
            return  # another server is at it
        except UnreadableObject as error:
            _log.error("flow control object cannot be restored", name=name, error=str(error))

    def _header(self, obj: Json) -> JsonObject:
        metadata = obj["metadata"]
        kept = {key: metadata[key] for key in ("name", "uid", "resourceVersion")}
        resource = self._schemas.resource
        header = {"apiVersion": resource.api_version, "kind": resource.gvk.kind}
        return {**header, "metadata": kept, "spec": obj["spec"]}

    def _write(self, collection: Collection, name: str, subresource: str = "") -> Write:
        write = Write.of_server(collection, "", name, self._clock.now(), _FIELD_MANAGER)
        write.subresource = subresource
        return write


def reconciled(existing: Json, expected: Json) -> JsonObject | None:
    """What is written in place of the existing object; None: nothing.

    A mandatory object always has its spec. Another one has it as long as it is annotated so; who
    removes the annotation keeps what is there.
    """
    annotations = (existing["metadata"].get("annotations")) or {}
    is_kept = annotations.get(AUTO_UPDATE) != "true"
    if existing["metadata"]["name"] not in MANDATORY and is_kept:
        return None
    spec, expected_spec = existing.get("spec"), expected["spec"]
    if existing["metadata"]["name"] in MANDATORY and "exempt" in expected_spec and spec:
        expected_spec = {**expected_spec, "exempt": spec.get("exempt", expected_spec["exempt"])}
    if spec == expected_spec:
        return None
    return {**existing, "spec": expected_spec}


def dangling_status(schema: Json, exists: bool, now: float) -> JsonObject | None:
    """The status a schema should have, whose level ``exists`` or not; None: it has it."""
    name = schema["spec"]["priorityLevelConfiguration"]["name"]
    message = (
        f'This FlowSchema references the PriorityLevelConfiguration object named "{name}" '
        f"{'and it exists' if exists else 'but there is no such object'}"
    )
    wanted = {
        "type": _DANGLING,
        "status": "False" if exists else "True",
        "reason": "Found" if exists else "NotFound",
        "message": message,
    }
    conditions = (schema.get("status") or {}).get("conditions") or []
    others = [condition for condition in conditions if condition.get("type") != _DANGLING]
    before: Json = next((c for c in conditions if c.get("type") == _DANGLING), {})
    if {**before, **wanted} == before:
        return None
    since = before.get("lastTransitionTime")
    if since is None or before.get("status") != wanted["status"]:
        since = format_time(now)
    return {"conditions": [*others, {**wanted, "lastTransitionTime": since}]}
