"""Makes the schemas and levels that every cluster has, keeps the mandatory ones, writes statuses.

At the start what is missing is made, and what carries ``autoupdate-spec: "true"`` gets the spec it
should have. From then on mandatory objects that were deleted are made again, and every schema says
in its condition ``Dangling`` whether its level exists. Several servers may do so on one store: who
comes second finds the work done.
"""

from __future__ import annotations

import asyncio
from functools import cache

import structlog

from proreus.aio.clock import Clock
from proreus.api.json_types import Json, JsonObject
from proreus.api.status import ApiError, Conflict, NotFound
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
from proreus.server.registry.collections import Collections
from proreus.server.registry.server_objects import CREATED, ObjectSet, ServerObject, ensure_objects
from proreus.server.registry.verbs.update import replacing
from proreus.server.registry.write import Write
from proreus.server.storage.interface import StorageError

_log = structlog.get_logger(__name__)
_RETRY_S = 10.0
_DANGLING = "Dangling"
_SCHEMAS, _LEVELS = "flowschemas", "prioritylevelconfigurations"
_FIELD_MANAGER = "api-priority-and-fairness-config-producer-v1"


class FlowControlObjects:
    """See the module. ``note_change`` is to be called when a schema or level has changed."""

    def __init__(self, collections: Collections, fairness: Fairness, clock: Clock) -> None:
        self._collections = collections
        self._schemas = collections.named(GROUP, "v1", _SCHEMAS)
        self._fairness = fairness
        self._clock = clock
        self._changed = asyncio.Event()

    def note_change(self) -> None:
        self._changed.set()

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
        mandatory = (one for one in _expected() if one.name in MANDATORY)
        await ensure_objects(self._collections, mandatory, self._clock.now(), reconciled)
        for found in self._schemas.cache.peek_all() or ():
            if not self._schemas.cache.is_readable(found):
                continue  # the cache has logged it
            obj: JsonObject = splice.decode_item(found.item)
            exists = self._fairness.has_level(obj["spec"]["priorityLevelConfiguration"]["name"])
            await self._set_status(obj, dangling_status(obj, exists, self._clock.now()))

    async def _set_status(self, obj: Json, status: JsonObject | None) -> None:
        if status is None:
            return
        name, now = obj["metadata"]["name"], self._clock.now()
        write = Write.of_server(self._schemas, "", name, now, _FIELD_MANAGER)
        write.subresource = "status"
        try:
            await replacing(write, {**self._header(obj), "status": status}).commit()
        except (NotFound, Conflict):
            self._changed.set()  # it has changed meanwhile: look again

    def _header(self, obj: Json) -> JsonObject:
        metadata = obj["metadata"]
        kept = {key: metadata[key] for key in ("name", "uid", "resourceVersion")}
        resource = self._schemas.resource
        header = {"apiVersion": resource.api_version, "kind": resource.gvk.kind}
        return {**header, "metadata": kept, "spec": obj["spec"]}


def flow_control_objects() -> ObjectSet:
    """With the status that schemas begin with, so that a new server's first events are its
    users'."""
    return ObjectSet(_expected(), reconciled)


@cache
def _expected() -> tuple[ServerObject, ...]:
    return tuple(map(_first_object, bootstrap_objects()))


def _first_object(obj: JsonObject) -> ServerObject:
    if obj["kind"] != SCHEMA_KIND:
        return ServerObject.of(_LEVELS, obj, _FIELD_MANAGER)
    status = first_status(obj)
    return ServerObject.of(_SCHEMAS, {**obj, "status": status}, _FIELD_MANAGER)


def first_status(schema: Json) -> JsonObject:
    """Of a schema whose level is made with it."""
    status = dangling_status(schema, True, 0)
    assert status is not None, "it has none yet"
    for condition in status["conditions"]:
        condition["lastTransitionTime"] = CREATED
    return status


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
