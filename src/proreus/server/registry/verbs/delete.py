"""Delete: at once, or marked and left to its grace period and its finalizers (spec/server §6.4)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from proreus.api.group_version import GroupResource
from proreus.api.status import Conflict
from proreus.api.values.timestamp import format_time, parse_time
from proreus.api.wire import splice
from proreus.api.wire.options import DeleteOptions
from proreus.server.registry import metadata
from proreus.server.registry.failures import told_as
from proreus.server.registry.metadata import FOREGROUND, ORPHAN
from proreus.server.registry.resource import Resource
from proreus.server.registry.strategy import is_namespaces
from proreus.server.registry.write import DELETE, Outcome, Write
from proreus.server.schema.rules import JsonObject
from proreus.server.storage.interface import KeyNotFound, StoredValue
from proreus.server.storage.resource_store import Preconditions, Update


async def delete_object(write: Write, options: DeleteOptions) -> Outcome:
    """Raises NotFound, Conflict, or what admission says."""
    if is_namespaces(write.collection.resource):
        return await _delete_namespace(write, options)
    if (own := write.collection.resource.delete) is not None:
        outcome: Outcome = await own(write, options)
        return outcome
    return await Deleting(write, options).run()


class _DeleteNow(Exception):
    """Nothing holds the object: no update is needed before it goes."""


class _AlreadyDeleting(Exception):
    """A grace period that is as short is running: nothing to do."""


class _DryRun(Exception):
    def __init__(self, stored: bytes) -> None:
        super().__init__()
        self.stored = stored


@dataclass(frozen=True, slots=True)
class _Grace:
    """``seconds`` None: the kind knows no grace."""

    seconds: int | None
    is_pending: bool = False


@dataclass(slots=True)
class Deleting:
    """One delete. The options may be sharpened on the way: each look at the object decides anew."""

    write: Write
    options: DeleteOptions

    async def run(self) -> Outcome:
        write = self.write
        collection = write.collection
        resource = collection.resource
        key = collection.key(write.namespace, write.name)
        with told_as(resource.group_resource, write.name, "delete"):
            current = await collection.store.get(key)
            if current is None:
                raise KeyNotFound(key)
            obj = collection.decode(current)
            grace = self._judge(obj)
            if grace.is_pending:
                return _kept(key, current)
            finalizers = finalizers_for(resource, obj, self.options)
            held = (
                grace.seconds is not None
                or bool(obj["metadata"].get("finalizers"))
                or finalizers is not None
            )
            if not held:
                return await self._remove(key, current, None)
            return await self._mark(key, current)

    async def _mark(self, key: str, current: StoredValue) -> Outcome:
        """Write the deletion into the object; remove it too if nothing then holds it."""
        marking = _Marking(self)
        try:
            done = await self.write.collection.store.guaranteed_update(
                key, marking.attempt, preconditions=self._preconditions()
            )
        except _AlreadyDeleting:
            return _kept(key, current)
        except _DeleteNow:
            return await self._remove(key, current, None)
        except _DryRun as dry:
            return Outcome(key, dry.stored, current.revision, is_gone=not marking.is_held)
        if marking.is_held:
            return Outcome(key, done.new.value, done.new.revision)
        return await self._remove(key, done.new, done.new)

    async def _remove(self, key: str, current: StoredValue, marked: StoredValue | None) -> Outcome:
        """``marked``: our own last write; another one may then remove the object before us."""
        write = self.write
        if write.dry_run:
            await self._admit(write.collection.decode(current))
            return Outcome(key, current.value, current.revision, is_gone=True)
        preconditions = self._preconditions()
        if marked is not None and preconditions.resource_version is not None:
            preconditions = replace(preconditions, resource_version=str(marked.revision))

        async def validate(found: StoredValue) -> None:
            await self._admit(write.collection.decode(found))

        try:
            gone = await write.collection.store.delete(
                key, preconditions=preconditions, validate=validate
            )
        except KeyNotFound:
            if marked is None:
                raise
            return Outcome(key, marked.value, marked.revision, is_gone=True)
        return Outcome(key, gone.value, gone.revision, is_gone=True)

    async def _admit(self, obj: JsonObject) -> None:
        attributes = self.write.attributes(DELETE, None, obj, self.options)
        await self.write.admission.mutate(attributes)
        await self.write.admission.validate(attributes)

    def _judge(self, obj: JsonObject) -> _Grace:
        """Check the preconditions; say what grace the object gets."""
        resource, meta = self.write.collection.resource, obj["metadata"]
        # Kubernetes names the Kind here where it names the resource everywhere else.
        kind = GroupResource(resource.group, resource.kind)
        check_preconditions(self.options, meta, kind, self.write.name)
        asked = self.options.grace_period_seconds
        if asked is not None and asked < 0:
            asked = 1
        if not resource.graceful_delete:
            return _Grace(None)
        if not meta.get("deletionTimestamp"):
            return _Grace(_pod_grace(obj, asked))
        running = meta.get("deletionGracePeriodSeconds")
        # Zero: a deletion at once is two writes, and whoever began it did not get to the second.
        if not running:
            return _Grace(None)
        if asked is None or asked >= running:
            return _Grace(None, is_pending=True)
        return _Grace(asked)

    def _preconditions(self) -> Preconditions:
        return Preconditions(self.options.uid, self.options.resource_version)


def check_preconditions(
    options: DeleteOptions, meta: Mapping[str, Any], told: GroupResource, name: str
) -> None:
    """Raises Conflict, which calls the object ``told``."""
    uid, version = options.uid, options.resource_version
    if uid is not None and uid != meta.get("uid"):
        raise Conflict.of(
            told,
            name,
            f"the UID in the precondition ({uid}) does not match the UID in record "
            f"({meta.get('uid')}). The object might have been deleted and then recreated",
        )
    if version is not None and version != meta.get("resourceVersion"):
        raise Conflict.of(
            told,
            name,
            f"the ResourceVersion in the precondition ({version}) does not match the "
            f"ResourceVersion in record ({meta.get('resourceVersion')}). "
            "The object might have been modified",
        )


class _Marking:
    """The update that marks; ``is_held`` tells, after it, whether the object stays."""

    def __init__(self, deleting: Deleting) -> None:
        self._deleting = deleting
        self.is_held = False

    async def attempt(self, current: StoredValue | None) -> Update:
        assert current is not None, "a missing key is an error before"
        write, options = self._deleting.write, self._deleting.options
        obj = write.collection.decode(current)
        await self._deleting._admit(obj)
        grace = self._deleting._judge(obj)
        if grace.is_pending:
            raise _AlreadyDeleting
        wanted = finalizers_for(write.collection.resource, obj, options)
        if wanted is not None:
            _set_finalizers(obj, wanted)
        has_finalizers = bool(obj["metadata"].get("finalizers"))
        if grace.seconds is None:
            if not has_finalizers:
                raise _DeleteNow
            metadata.mark_deleting(obj, write.now)
        else:
            _shorten(obj, write.now, grace.seconds)
        self.is_held = has_finalizers or bool(grace.seconds)
        value = write.collection.as_written(obj)
        if write.dry_run:
            raise _DryRun(value)
        return Update(value, write.collection.resource.ttl_s)


def finalizers_for(
    resource: Resource, obj: Mapping[str, Any], options: DeleteOptions
) -> list[str] | None:
    """The finalizers the deletion policy asks for, None if they are the present ones."""
    if not resource.garbage_collected:
        return None
    present = list(obj["metadata"].get("finalizers") or ())
    wanted = [name for name in present if name not in (ORPHAN, FOREGROUND)]
    policy = _policy(resource, present, options)
    if policy == "Orphan":
        wanted.append(ORPHAN)
    elif policy == "Foreground":
        wanted.append(FOREGROUND)
    return None if set(wanted) == set(present) else wanted


def _policy(resource: Resource, present: list[str], options: DeleteOptions) -> str:
    """What was asked for wins over what the object says, and that over the kind's default."""
    if options.orphan_dependents is not None:
        return "Orphan" if options.orphan_dependents else "Background"
    if options.propagation_policy is not None:
        return options.propagation_policy
    if ORPHAN in present:
        return "Orphan"
    if FOREGROUND in present:
        return "Foreground"
    return resource.default_propagation


def _pod_grace(obj: Mapping[str, Any], asked: int | None) -> int:
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    if not spec.get("nodeName") or status.get("phase") in ("Failed", "Succeeded"):
        return 0
    own = asked if asked is not None else spec.get("terminationGracePeriodSeconds") or 0
    return 1 if own < 0 else int(own)


def _shorten(obj: JsonObject, now: float, grace_s: int) -> None:
    """Mark, or move an end that was marked before; only the first mark counts as a change."""
    meta = metadata.of(obj)
    if not meta.get("deletionTimestamp"):
        metadata.raise_generation(obj)
        meta["deletionTimestamp"] = format_time(now + grace_s)
    else:
        running = meta.get("deletionGracePeriodSeconds") or 0
        begun = parse_time(meta["deletionTimestamp"]) - running
        meta["deletionTimestamp"] = format_time(begun + grace_s)
    meta["deletionGracePeriodSeconds"] = grace_s


def _set_finalizers(obj: JsonObject, finalizers: list[str]) -> None:
    if finalizers:
        metadata.of(obj)["finalizers"] = finalizers
    else:
        metadata.of(obj).pop("finalizers", None)


def _kept(key: str, current: StoredValue) -> Outcome:
    return Outcome(key, current.value, current.revision)


async def _delete_namespace(write: Write, options: DeleteOptions) -> Outcome:
    """First marked and made Terminating; removed when its spec holds nothing any more."""
    collection, name = write.collection, write.name
    resource = collection.resource.group_resource
    key = collection.key("", name)
    with told_as(resource, name, "delete"):
        current = await collection.store.get(key)
        if current is None:
            raise KeyNotFound(key)
        obj = collection.decode(current)
        meta = obj["metadata"]
        _check_namespace_preconditions(resource, name, meta, options)
        options = replace(options, uid=meta.get("uid"))
        if metadata.is_deleting(obj):
            if (obj.get("spec") or {}).get("finalizers"):
                return _kept(key, current)
            return await Deleting(write, options).run()

        async def mark(found: StoredValue | None) -> Update:
            assert found is not None, "a missing key is an error before"
            marked = collection.decode(found)
            attributes = write.attributes(DELETE, None, marked, options)
            await write.admission.mutate(attributes)
            await write.admission.validate(attributes)
            metadata.of(marked).setdefault("deletionTimestamp", format_time(write.now))
            marked["status"] = {**(marked.get("status") or {}), "phase": "Terminating"}
            _set_namespace_finalizers(marked, options)
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


def _set_namespace_finalizers(obj: JsonObject, options: DeleteOptions) -> None:
    present = list(obj["metadata"].get("finalizers") or ())
    wanted = [name for name in present if name not in (ORPHAN, FOREGROUND)]
    if options.orphan_dependents is not None:
        wanted += [ORPHAN] if options.orphan_dependents else []
    elif options.propagation_policy is not None:
        asked = {"Orphan": [ORPHAN], "Foreground": [FOREGROUND]}
        wanted += asked.get(options.propagation_policy, [])
    else:
        wanted = present
    _set_finalizers(obj, wanted)


def _check_namespace_preconditions(
    resource: GroupResource, name: str, meta: Mapping[str, Any], options: DeleteOptions
) -> None:
    checks = (("UID", options.uid, "uid"),
              ("ResourceVersion", options.resource_version, "resourceVersion"))  # fmt: skip
    for word, wanted, field in checks:
        if wanted is not None and wanted != meta.get(field):
            raise Conflict.of(
                resource,
                name,
                f"Precondition failed: {word} in precondition: {wanted}, "
                f"{word} in object meta: {meta.get(field)}",
            )
