"""Delete: removed, or marked and left to its grace period and its finalizers (server.md §6.4).

What holds an object is decided on the value that is replaced, as for every update.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

from proreus.api.finalizers import FOREGROUND, ORPHAN
from proreus.api.group_version import GroupResource
from proreus.api.json_types import JsonObject
from proreus.api.status import Conflict
from proreus.api.values.timestamp import format_time, parse_time
from proreus.api.wire import splice
from proreus.api.wire.options import DeleteOptions
from proreus.lazy_dataclass import dataclass
from proreus.server.registry import metadata
from proreus.server.registry.admission import DELETE
from proreus.server.registry.collection import UnreadableObject
from proreus.server.registry.failures import translate_errors
from proreus.server.registry.write import Write
from proreus.server.resource import Resource
from proreus.server.resource.lifecycle import ContentsFirst
from proreus.server.storage.interface import KeyNotFound, StoredValue
from proreus.server.storage.resource_store import Outcome, Preconditions, Removal

_FINALIZERS = {"Orphan": ORPHAN, "Foreground": FOREGROUND}


@dataclass(frozen=True, slots=True)
class _Grace:
    """``seconds`` None: the kind knows no grace."""

    seconds: int | None
    is_pending: bool = False


@dataclass(slots=True)
class Delete:
    """One delete. ``is_held``, after ``next``: whether the marked object stays for the present."""

    write: Write
    options: DeleteOptions
    is_held: bool = False

    async def commit(self) -> Outcome:
        """Mark the object or remove it; remove it too if it is marked and nothing holds it.

        Raises NotFound, Conflict, or what admission raises.
        """
        write, collection = self.write, self.write.collection
        resource, key = collection.resource, collection.key(write.namespace, write.name)
        # Which object with contents is meant, its first look decides: that is at what is stored.
        has_contents = resource.lifecycle.contents_first is not None
        with translate_errors(resource.group_resource, write.name, "delete"):
            done = await collection.store.guaranteed_update(
                key,
                self.next,
                cached=None if has_contents else collection.suggested(key),
                ttl_s=resource.persistence.ttl_s,
                dry_run=write.dry_run,
            )
            if self.is_held:
                return done
            if not done.is_removed:
                new = done.new if write.dry_run else await self._remove(done.new)
                done = Outcome(new, done.old, is_removed=True)
        if collection.release is not None and not write.dry_run:
            await collection.release(key, done.new.value, None)
        return done

    async def next(self, current: StoredValue | None) -> bytes | Removal:
        """The object marked as being deleted, as it is if its deletion is under way already."""
        assert current is not None, "a missing key is an error before"
        write, lifecycle = self.write, self.write.collection.resource.lifecycle
        self.is_held = False  # whatever an attempt before found
        try:
            obj = write.collection.decode(current)
        except UnreadableObject:
            return await self._remove_unreadable(current)
        self._check_preconditions(obj["metadata"])
        if (contents := lifecycle.contents_first) is not None:
            # On another attempt it must not be a new object of the same name.
            self.options = replace(self.options, uid=obj["metadata"].get("uid"))
            if not metadata.is_deleting(obj):
                return await self._mark_for_contents(obj, contents)
        grace = self._grace(obj)
        if grace.is_pending or (contents is not None and lifecycle.is_held(obj)):
            self.is_held = True
            return current.value
        await self._admit(obj)
        wanted = finalizers_for(write.collection.resource, obj, self.options)
        if wanted is not None:
            metadata.set_finalizers(obj, wanted)
        has_finalizers = bool(obj["metadata"].get("finalizers"))
        self.is_held = has_finalizers or bool(grace.seconds)
        if grace.seconds is not None:
            _shorten(obj, write.now, grace.seconds)
        elif has_finalizers:
            metadata.mark_deleting(obj, write.now)
        else:
            return Removal(current.value)
        return write.collection.as_written(obj)

    async def _mark_for_contents(self, obj: JsonObject, contents: ContentsFirst) -> bytes:
        """The first delete only marks; a later one is an ordinary delete."""
        await self._admit(obj)
        contents.mark(obj, self.write.now)
        if contents.sets_policy and (policy := _requested_policy(self.options)):
            present = obj["metadata"].get("finalizers") or []
            metadata.set_finalizers(obj, _with_policy(present, policy))
        self.is_held = True
        return splice.stored_from_object(obj)

    async def _remove(self, marked: StoredValue) -> StoredValue:
        """``marked``: our own last write; another delete may remove the object before us."""
        version = str(marked.revision) if self.options.resource_version is not None else None
        with suppress(KeyNotFound):
            return await self.write.collection.store.delete(
                marked.key,
                preconditions=Preconditions(self.options.uid, version),
                validate=self._admit_stored,
                cached=marked,
            )
        return marked

    async def _remove_unreadable(self, current: StoredValue) -> Removal:
        """What cannot be read has no finalizers that anybody could find, and no grace.

        Raises Conflict if the caller means an object with a certain UID: this may be another.
        """
        write = self.write
        meta = {"name": write.name, "resourceVersion": str(current.revision)}
        if write.namespace:
            meta["namespace"] = write.namespace
        gvk = write.collection.resource.stored_gvk
        obj: JsonObject = {"kind": gvk.kind, "apiVersion": gvk.api_version, "metadata": meta}
        self._check_preconditions(meta)
        await self._admit(obj)
        return Removal(splice.stored_from_object(obj))

    async def _admit_stored(self, found: StoredValue) -> None:
        await self._admit(self.write.collection.decode(found))

    async def _admit(self, obj: JsonObject) -> None:
        attributes = self.write.attributes(DELETE, None, obj, options=self.options)
        await self.write.admission.admit(attributes)

    def _grace(self, obj: JsonObject) -> _Grace:
        resource, meta = self.write.collection.resource, obj["metadata"]
        requested = self.options.grace_period_seconds
        if requested is not None and requested < 0:
            requested = 1
        if not resource.lifecycle.graceful_delete:
            return _Grace(None)
        if not meta.get("deletionTimestamp"):
            return _Grace(_pod_grace(obj, requested))
        running = meta.get("deletionGracePeriodSeconds")
        # Zero: a deletion without grace is two writes, and its writer did not get to the second.
        if not running:
            return _Grace(None)
        if requested is None or requested >= running:
            return _Grace(None, is_pending=True)
        return _Grace(requested)

    def _check_preconditions(self, meta: Mapping[str, Any]) -> None:
        resource, name = self.write.collection.resource, self.write.name
        if (contents := resource.lifecycle.contents_first) is not None:
            _check_container(self.options, meta, resource.group_resource, name, contents)
        else:
            # Kubernetes names the Kind here where it names the resource everywhere else.
            kind = GroupResource(resource.group, resource.kind)
            check_preconditions(self.options, meta, kind, name)


def check_preconditions(
    options: DeleteOptions, meta: Mapping[str, Any], kind: GroupResource, name: str
) -> None:
    """Raises Conflict, which names the object's ``kind``."""
    uid, version = options.uid, options.resource_version
    if uid is not None and uid != meta.get("uid"):
        raise Conflict.of(
            kind,
            name,
            f"the UID in the precondition ({uid}) does not match the UID in record "
            f"({meta.get('uid')}). The object might have been deleted and then recreated",
        )
    if version is not None and version != meta.get("resourceVersion"):
        raise Conflict.of(
            kind,
            name,
            f"the ResourceVersion in the precondition ({version}) does not match the "
            f"ResourceVersion in record ({meta.get('resourceVersion')}). "
            "The object might have been modified",
        )


def finalizers_for(
    resource: Resource, obj: Mapping[str, Any], options: DeleteOptions
) -> list[str] | None:
    """The finalizers the deletion policy asks for, None if they are the present ones."""
    if not resource.lifecycle.garbage_collected:
        return None
    present = list(obj["metadata"].get("finalizers") or ())
    policy = (
        _requested_policy(options)
        or _present_policy(present)
        or resource.lifecycle.default_propagation
    )
    wanted = _with_policy(present, policy)
    return None if set(wanted) == set(present) else wanted


def _with_policy(present: list[str], policy: str) -> list[str]:
    kept = [name for name in present if name not in _FINALIZERS.values()]
    return [*kept, _FINALIZERS[policy]] if policy in _FINALIZERS else kept


def _requested_policy(options: DeleteOptions) -> str:
    if options.orphan_dependents is not None:
        return "Orphan" if options.orphan_dependents else "Background"
    return options.propagation_policy or ""


def _present_policy(present: list[str]) -> str:
    return next((policy for policy, name in _FINALIZERS.items() if name in present), "")


def _pod_grace(obj: Mapping[str, Any], requested: int | None) -> int:
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    if not spec.get("nodeName") or status.get("phase") in ("Failed", "Succeeded"):
        return 0
    own = requested if requested is not None else spec.get("terminationGracePeriodSeconds") or 0
    return 1 if own < 0 else int(own)


def _shorten(obj: JsonObject, now: float, grace_s: int) -> None:
    """Mark, or move an end that was marked before; only the first mark counts as a change."""
    meta = metadata.ensure(obj)
    if not meta.get("deletionTimestamp"):
        metadata.raise_generation(obj)
        meta["deletionTimestamp"] = format_time(now + grace_s)
    else:
        running = meta.get("deletionGracePeriodSeconds") or 0
        begun = parse_time(meta["deletionTimestamp"]) - running
        meta["deletionTimestamp"] = format_time(begun + grace_s)
    meta["deletionGracePeriodSeconds"] = grace_s


def _check_container(
    options: DeleteOptions,
    meta: Mapping[str, Any],
    resource: GroupResource,
    name: str,
    contents: ContentsFirst,
) -> None:
    """As ``check_preconditions``, in the words of kinds that contain others."""
    checks = (("UID", options.uid, "uid"),
              ("ResourceVersion", options.resource_version, "resourceVersion"))  # fmt: skip
    for word, wanted, field in checks:
        if wanted is not None and wanted != meta.get(field):
            raise Conflict.of(
                resource,
                name,
                f"{contents.conflict}: {word} in precondition: {wanted}, "
                f"{word} in object meta: {meta.get(field)}",
            )
