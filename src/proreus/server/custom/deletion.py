"""Deleting a definition: it is marked, and goes when its instances are gone (spec/server §9.5)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from proreus.api.status import Conflict
from proreus.api.values.timestamp import format_time
from proreus.api.wire import splice
from proreus.api.wire.options import DeleteOptions
from proreus.server.custom import conditions
from proreus.server.registry import metadata
from proreus.server.registry.failures import told_as
from proreus.server.registry.verbs.delete import Deleting
from proreus.server.registry.write import DELETE, Outcome, Write
from proreus.server.schema.rules import JsonObject
from proreus.server.storage.interface import KeyNotFound, StoredValue
from proreus.server.storage.resource_store import Preconditions, Update

FINALIZER = "customresourcecleanup.apiextensions.k8s.io"


class _DryRun(Exception):
    def __init__(self, stored: bytes) -> None:
        super().__init__()
        self.stored = stored


async def delete_definition(write: Write, options: DeleteOptions) -> Outcome:
    """The first delete marks; a second one is an ordinary delete, which the finalizer holds up."""
    collection, name = write.collection, write.name
    resource = collection.resource.group_resource
    key = collection.key("", name)
    with told_as(resource, name, "delete"):
        current = await collection.store.get(key)
        if current is None:
            raise KeyNotFound(key)
        obj = collection.decode(current)
        _check(write, obj["metadata"], options)
        if metadata.is_deleting(obj):
            return await Deleting(write, options).run()

        async def mark(found: StoredValue | None) -> Update:
            assert found is not None, "a missing key is an error before"
            marked = collection.decode(found)
            attributes = write.attributes(DELETE, None, marked, options)
            await write.admission.mutate(attributes)
            await write.admission.validate(attributes)
            mark_deleted(marked, write.now)
            value = splice.stored_from_object(marked)
            if write.dry_run:
                raise _DryRun(value)
            return Update(value)

        try:
            done = await collection.store.guaranteed_update(
                key, mark, preconditions=Preconditions(options.uid, options.resource_version)
            )
        except _DryRun as dry:
            return Outcome(key, dry.stored, current.revision)
    return Outcome(key, done.new.value, done.new.revision)


def mark_deleted(obj: JsonObject, now: float) -> None:
    meta = metadata.of(obj)
    if meta.get("deletionTimestamp"):
        return
    meta["deletionTimestamp"] = format_time(now)
    finalizers = [*(meta.get("finalizers") or ())]
    meta["finalizers"] = finalizers if FINALIZER in finalizers else [*finalizers, FINALIZER]
    status = obj["status"] = {**(obj.get("status") or {})}
    conditions.put(
        status,
        conditions.make(
            conditions.TERMINATING,
            True,
            "InstanceDeletionPending",
            "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon",
            now,
        ),
    )


def without_finalizer(obj: JsonObject) -> None:
    meta = metadata.of(obj)
    kept = [name for name in meta.get("finalizers") or () if name != FINALIZER]
    if kept:
        meta["finalizers"] = kept
    else:
        meta.pop("finalizers", None)


def _check(write: Write, meta: Mapping[str, Any], options: DeleteOptions) -> None:
    checks = (("UID", options.uid, "uid"),
              ("ResourceVersion", options.resource_version, "resourceVersion"))  # fmt: skip
    for word, wanted, field in checks:
        if wanted is not None and wanted != meta.get(field):
            raise Conflict.of(
                write.collection.resource.group_resource,
                write.name,
                f"precondition failed: {word} in precondition: {wanted}, "
                f"{word} in object meta: {meta.get(field)}",
            )
