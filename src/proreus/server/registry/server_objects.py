"""Objects that a server creates by itself when it starts, such as roles and flow schemas.

The bytes that are stored of them are always the same but for a uid and the time. So an object goes
through defaults, validation and field ownership once per process, with marks in their place, and
every server that starts after that puts its own values there: 3 µs instead of 150. Tests start
thousands of servers.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable

import msgspec
import structlog

from proreus.api.json_types import JsonObject
from proreus.api.status import AlreadyExists, Conflict, NotFound
from proreus.api.values.timestamp import format_time
from proreus.api.wire import json
from proreus.api.wire.options import DeleteOptions
from proreus.lazy_dataclass import dataclass
from proreus.server.registry.collection import Collection, UnreadableObject
from proreus.server.registry.collections import Collections
from proreus.server.registry.metadata import new_uid
from proreus.server.registry.verbs.create import Create, prepare
from proreus.server.registry.verbs.delete import Delete
from proreus.server.registry.verbs.update import replacing
from proreus.server.registry.write import Write
from proreus.server.storage.interface import KeyExists, StoredValue
from proreus.server.storage.resource_store import Removal

_log = structlog.get_logger(__name__)
_UID = "00000000-0000-4000-8000-5e7000000000"
_TIME_S = 253402300799.0  # the last second that has a time of its form: no object has it
_TEMPLATES_MAX = 1000
_LISTED_PER_WANTED = 4


class ServerObject(msgspec.Struct, frozen=True):
    """``encoded``: the whole object as JSON, with its status if it begins with one. A time in it
    is that of its creation if it is written as ``CREATED``."""

    plural: str
    api_version: str
    namespace: str
    name: str
    encoded: bytes
    field_manager: str = "proreus"

    @classmethod
    def of(cls, plural: str, obj: JsonObject, field_manager: str = "proreus") -> ServerObject:
        metadata = obj["metadata"]
        return cls(
            plural=plural,
            api_version=obj["apiVersion"],
            namespace=metadata.get("namespace", ""),
            name=metadata["name"],
            encoded=json.encode(obj),
            field_manager=field_manager,
        )

    def decoded(self, now: float) -> JsonObject:
        text = self.encoded.replace(_TIME_MARK, format_time(now).encode())
        obj: JsonObject = json.decode(text)
        return obj

    def collection(self, collections: Collections) -> Collection:
        group, _, version = self.api_version.rpartition("/")
        return collections.named(group, version, self.plural)


CREATED = format_time(_TIME_S)
_UID_MARK, _TIME_MARK = _UID.encode(), CREATED.encode()
_templates: dict[ServerObject, bytes] = {}


@dataclass(frozen=True, slots=True)
class Recreate:
    """The object is deleted and made anew: what differs cannot be changed."""


# What is written in place of an object (first) that should be the other one; None: nothing.
Reconcile = Callable[[JsonObject, JsonObject], JsonObject | Recreate | None]


def keep(existing: JsonObject, expected: JsonObject) -> None:
    """For objects that belong to their users once they are made."""


@dataclass(frozen=True, slots=True)
class ObjectSet:
    """Objects that every cluster has, and what becomes of one that is not as it should be."""

    objects: tuple[ServerObject, ...]
    reconcile: Reconcile

    async def ensure(self, collections: Collections, now: float) -> None:
        """Raises StorageError."""
        await ensure_objects(collections, self.objects, now, self.reconcile)


async def ensure_objects(
    collections: Collections, wanted: Iterable[ServerObject], now: float, reconcile: Reconcile
) -> None:
    """All at once: storage commits what is written together in one go.

    Several servers may start on one store at the same time: who comes second finds the work done.
    """
    by_collection: dict[tuple[str, str], list[ServerObject]] = {}
    for one in wanted:
        by_collection.setdefault((one.api_version, one.plural), []).append(one)
    async with asyncio.TaskGroup() as writes:
        for objects in by_collection.values():
            collection = objects[0].collection(collections)
            keys = [collection.key(one.namespace, one.name) for one in objects]
            stored = await _stored(collection, keys)
            for key, one in zip(keys, objects, strict=True):
                writes.create_task(_ensure(collection, stored.get(key), one, now, reconcile))


async def ensure_object(
    collections: Collections, wanted: ServerObject, now: float, reconcile: Reconcile
) -> None:
    collection = wanted.collection(collections)
    stored = await collection.store.get(collection.key(wanted.namespace, wanted.name))
    await _ensure(collection, stored, wanted, now, reconcile)


async def _stored(collection: Collection, keys: list[str]) -> dict[str, StoredValue]:
    """Those that are there. By one list, unless most of the collection is others'; it may have
    more."""
    store = collection.store
    if await store.count() <= _LISTED_PER_WANTED * len(keys):
        return {found.key: found for found in (await store.list()).items}
    async with asyncio.TaskGroup() as reads:
        asked = [reads.create_task(store.get(key)) for key in keys]
    return {found.key: found for one in asked if (found := one.result()) is not None}


async def _ensure(
    collection: Collection,
    stored: StoredValue | None,
    wanted: ServerObject,
    now: float,
    reconcile: Reconcile,
) -> None:
    """Of objects that cannot be read nothing is changed."""
    try:
        if stored is None:
            key = collection.key(wanted.namespace, wanted.name)
            await collection.store.create(key, await first_bytes(collection, wanted, now))
        elif reconcile is not keep:
            await _mend(collection, stored, wanted, now, reconcile)
    except (AlreadyExists, KeyExists, NotFound, Conflict):
        return  # another server is at it
    except UnreadableObject as error:
        _log.error(
            "an object that every cluster has cannot be restored", name=wanted.name, why=str(error)
        )


async def _mend(
    collection: Collection,
    stored: StoredValue,
    wanted: ServerObject,
    now: float,
    reconcile: Reconcile,
) -> None:
    expected = wanted.decoded(now)
    match reconcile(collection.decode(stored), expected):
        case None:
            return
        case Recreate():
            await Delete(_write(collection, wanted, now), DeleteOptions()).commit()
            await Create(_write(collection, wanted, now), expected).commit()
        case changed:
            await replacing(_write(collection, wanted, now), changed).commit()


async def first_bytes(collection: Collection, wanted: ServerObject, now: float) -> bytes:
    """What is stored of an object that is created now."""
    template = _templates.get(wanted)
    if template is None:
        template = await _template(collection, wanted)
        if len(_templates) < _TEMPLATES_MAX:
            _templates[wanted] = template
    marked = template.replace(_UID_MARK, new_uid().encode(), 1)
    return marked.replace(_TIME_MARK, format_time(now).encode())


async def _template(collection: Collection, wanted: ServerObject) -> bytes:
    """What creating the object stores, and then writing its status, with marks."""
    obj = wanted.decoded(_TIME_S)
    status = obj.pop("status", None)
    prepared = await prepare(_write(collection, wanted, _TIME_S), {**obj})
    prepared["metadata"]["uid"] = _UID
    value = await collection.to_bytes(prepared)
    if status is None:
        return value
    write = _write(collection, wanted, _TIME_S)
    write.subresource = "status"
    whole = {**collection.decode(StoredValue("", value, 1)), "status": status}
    step = await replacing(write, whole).next(StoredValue("", value, 1))
    assert not isinstance(step, Removal), "nothing deletes it"
    return step


def _write(collection: Collection, wanted: ServerObject, now: float) -> Write:
    return Write.of_server(collection, wanted.namespace, wanted.name, now, wanted.field_manager)
