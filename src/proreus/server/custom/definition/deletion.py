"""Deletion of a definition: marked first, removed when its instances are gone (server.md §9.5)."""

from __future__ import annotations

from proreus.api.json_types import JsonObject
from proreus.api.values.timestamp import format_time
from proreus.server.custom.definition import conditions
from proreus.server.registry import metadata
from proreus.server.resource.lifecycle import ContentsFirst

FINALIZER = "customresourcecleanup.apiextensions.k8s.io"


def _mark(obj: JsonObject, now: float) -> None:
    meta = metadata.ensure(obj)
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
    meta = metadata.ensure(obj)
    kept = [name for name in meta.get("finalizers") or () if name != FINALIZER]
    metadata.set_finalizers(obj, kept)


CONTENTS_FIRST = ContentsFirst(mark=_mark, conflict="precondition failed")
