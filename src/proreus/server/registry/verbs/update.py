"""Update: what PUT, PATCH and subresources share (spec/server §6.2).

The caller says how the new object comes from the present one; that may be asked several times, as
often as another writer gets in between. The write happens only if everything passed on the value
it replaces.

Cost of an attempt on a pod of 3.7 kB: about 100 µs. The present object is decoded once, and once
more only if the update seems to change nothing.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass

from proreus.api import field_error
from proreus.api.field_error import FieldError
from proreus.api.group_version import GroupKind
from proreus.api.status import Conflict, Invalid, PlainError
from proreus.api.wire.query import RevisionError, parse_resource_version
from proreus.server.registry import metadata, metadata_rules
from proreus.server.registry.failures import told_as
from proreus.server.registry.strategy import UpdateStrategy
from proreus.server.registry.tracking import is_unchanged, track
from proreus.server.registry.verbs import create as creation
from proreus.server.registry.write import LONG_BYTES, UPDATE, Outcome, Write
from proreus.server.schema.rules import JsonObject, judged
from proreus.server.storage.interface import KeyNotFound, PreconditionFailed, StoredValue
from proreus.server.storage.resource_store import Preconditions, Update

# From the present object in the served version (None: there is none) to the wanted one.
Make = Callable[[JsonObject | None], Awaitable[JsonObject]]


class _Emptied(Exception):
    """The update takes the last thing away that held a deleted object."""

    def __init__(self, stored: bytes, revision: int) -> None:
        super().__init__()
        self.stored = stored
        self.revision = revision


class _DryRun(Exception):
    """What would have been stored."""

    def __init__(self, stored: bytes, revision: int | None, *, is_created: bool) -> None:
        super().__init__()
        self.stored = stored
        self.revision = revision
        self.is_created = is_created


@dataclass(slots=True)
class Updating:
    """One update. ``may_create``: a missing object is created (create-on-update, apply)."""

    write: Write
    make: Make
    strategy: UpdateStrategy
    uid: str | None = None
    may_create: bool = False
    tracks: bool = True
    is_patch: bool = False
    is_created: bool = False

    async def run(self) -> Outcome:
        write = self.write
        collection = write.collection
        resource = collection.resource
        key = collection.key(write.namespace, write.name)
        with told_as(resource.group_resource, write.name, "update"):
            try:
                done = await collection.store.guaranteed_update(
                    key,
                    self._attempt,
                    cached=collection.at_hand(key),
                    ignore_not_found=self.may_create,
                )
            except _Emptied as emptied:
                return await self._remove(key, emptied)
            except _DryRun as dry:
                return Outcome(key, dry.stored, dry.revision, is_created=dry.is_created)
        return Outcome(key, done.new.value, done.new.revision, is_created=self.is_created)

    async def _attempt(self, current: StoredValue | None) -> Update:
        collection = self.write.collection
        if current is None:
            self._check_uid("")
            return await self._create()
        self.is_created = False
        self.write.is_long = self.write.is_long or len(current.value) > LONG_BYTES
        live = await collection.load(current)
        self._check_uid(live["metadata"].get("uid") or "")
        wanted = await self.make(collection.to_served(live))
        stored = await self._prepared(collection.to_stored(wanted), live)
        if await self._is_unchanged(stored, live, current):
            return self._finished(current.value, current)
        value = await collection.to_bytes(stored)
        if self.strategy.may_end_deletion(stored, live):
            if self.write.dry_run:
                raise _DryRun(value, current.revision, is_created=False)
            raise _Emptied(value, current.revision)
        return self._finished(value, current)

    def _check_uid(self, found: str) -> None:
        """On the decoded object, which is at hand here: storage would decode it once more."""
        if self.uid is not None and found != self.uid:
            key = self.write.collection.key(self.write.namespace, self.write.name)
            prefix = self.write.collection.store.prefix
            raise PreconditionFailed(prefix + key, "UID", self.uid, found)

    async def _is_unchanged(
        self, stored: JsonObject, live: JsonObject, current: StoredValue
    ) -> bool:
        collection = self.write.collection
        done = self.write.done
        if collection.is_written_anew(current):
            return False
        if not await done(lambda: is_unchanged(stored, live)):
            return False
        # What was made of ``live`` may share parts with it: only what is stored can tell.
        again = await collection.load(current)
        return await done(lambda: is_unchanged(stored, again))

    def _finished(self, value: bytes, current: StoredValue) -> Update:
        if self.write.dry_run:
            raise _DryRun(value, current.revision, is_created=False)
        return Update(value, self.write.collection.resource.ttl_s)

    async def _create(self) -> Update:
        obj = await self.make(None)
        creation.check_namespace(self.write, obj)
        metadata.wipe_system_fields(obj)
        metadata.without_resource_version(obj)
        prepared = await creation.prepare(self.write, obj, tracks=self.tracks)
        value = await self.write.collection.to_bytes(prepared)
        self.is_created = True
        if self.write.dry_run:
            raise _DryRun(value, None, is_created=True)
        return Update(value, self.write.collection.resource.ttl_s)

    async def _prepared(self, stored: JsonObject, live: JsonObject) -> JsonObject:
        """The kind's rules, admission and the checks, on the stored version."""
        write, strategy = self.write, self.strategy
        resource = write.collection.resource
        creation.check_namespace(write, stored)
        await write.done(lambda: resource.rules.default(stored))
        strategy.reset(stored, live)
        metadata.keep_server_fields(stored, live)
        if self.tracks and (pending := track(write, live, stored)) is not None:
            await pending
        if doubled := metadata.unique_owner_references(stored):
            write.warn(creation.duplicate_owners(doubled, is_patch=self.is_patch))
        attributes = write.attributes(UPDATE, stored, live)
        if (pending := write.admission.mutating(attributes)) is not None:
            await pending
        self._check_revision(stored, live)
        errors = await write.done(lambda: self._metadata_violations(stored, live))
        errors += await judged(lambda: strategy.validate(stored, live), write.done)
        if refused := [error for error in errors if not error.is_tolerated]:
            raise Invalid.of(resource.stored_gvk.group_kind, write.name, refused)
        for error in errors:
            write.warn(str(error))
        for warning in await write.done(lambda: strategy.warnings(stored, live)):
            write.warn(warning)
        if (pending := write.admission.validating(attributes)) is not None:
            await pending
        return stored

    def _metadata_violations(self, stored: JsonObject, live: JsonObject) -> list[FieldError]:
        """Of the object as it will be, its generation included."""
        self.strategy.prepare(stored, live)
        resource = self.write.collection.resource
        found = metadata_rules.update_violations(stored["metadata"], live["metadata"], resource)
        if resource.custom:
            found += found  # Kubernetes looks at their metadata twice, and tells each cause twice
        return found

    def _check_revision(self, stored: JsonObject, live: JsonObject) -> None:
        resource = self.write.collection.resource
        given = stored["metadata"].get("resourceVersion") or ""
        try:
            wanted = parse_resource_version(given)
        except RevisionError as error:
            raise PlainError(error.why) from error
        if wanted == 0:
            if resource.unconditional_update:
                return
            kind = GroupKind(resource.group, resource.plural)
            rule = field_error.invalid(
                "metadata.resourceVersion", 0, "must be specified for an update"
            )
            raise Invalid.of(kind, self.write.name, [rule])
        if str(wanted) != live["metadata"]["resourceVersion"]:
            raise Conflict.modified(resource.group_resource, self.write.name)

    async def _remove(self, key: str, emptied: _Emptied) -> Outcome:
        store = self.write.collection.store
        # Someone else may have ended the deletion first: it is what this update wanted.
        with suppress(KeyNotFound):
            await store.delete(key, preconditions=Preconditions(uid=self.uid))
        return Outcome(key, emptied.stored, emptied.revision, is_gone=True)
