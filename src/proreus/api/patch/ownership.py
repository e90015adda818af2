"""Field ownership: how one write at an endpoint changes the owners of fields.

Between ``apply`` and ``managed_fields``: the first says what is written, the second keeps entries.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from typing import NamedTuple

import msgspec

from proreus.api.json_types import Json, JsonObject
from proreus.api.patch import field_sets, managed_fields
from proreus.api.patch.errors import UnmappedPatchError
from proreus.api.patch.field_sets import Tree, difference, includes, meets, union
from proreus.api.patch.field_walk import Comparison, compare
from proreus.api.patch.managed_fields import (
    BEFORE_FIRST_APPLY,
    MAX_UPDATERS,
    UNTRACKED,
    UPDATE,
    ManagedFieldsError,
    Owned,
    Owner,
    Owners,
)
from proreus.api.patch.plans import plan_of
from proreus.api.patch.shapes import EmptyObjectLeaves, TreesByText, is_cached
from proreus.api.typed import TypeNode
from proreus.lazy_dataclass import dataclass

_CREATED_MAX = 256


class InVersion(NamedTuple):
    """An object in a certain version, and that version's type."""

    obj: JsonObject
    node: TypeNode | None


@dataclass(frozen=True, slots=True)
class NeedsConversion:
    """Instead of a result: ``obj`` is needed in another version, which takes a call to a webhook.

    The caller makes it and asks again; what was computed up to there is of no use.
    """

    obj: JsonObject
    api_version: str


# The object in another version; None if that version is not served. Raises UnknownOwnerVersion.
ToVersion = Callable[[JsonObject, str], InVersion | NeedsConversion | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """What ownership needs to know of the place a write goes to.

    ``reset``: fields this endpoint puts back as they were, so that no manager owns them through it:
    ``(("status",),)`` for a kind with a status subresource, ``(("spec",),)`` for that subresource.
    ``empty``: the kind's empty object, with the fields a server always shows; what a create is
    compared with. ``convert``: without it there is one version. ``created``: what the
    makers of objects own, by the shape of the object, which is kept beside it.
    """

    reset: tuple[tuple[str, ...], ...] = ()
    empty: Json = field(default_factory=lambda: {"metadata": {}})
    convert: ToVersion | None = None
    reset_fields: Tree = field(init=False, compare=False, repr=False)
    empty_leaves: EmptyObjectLeaves = field(init=False, compare=False, repr=False)
    specs: TreesByText = field(
        default_factory=lambda: TreesByText("spec"), init=False, compare=False, repr=False
    )
    created: dict[tuple[int, tuple[bool, ...]], tuple[Tree, Tree]] = field(
        default_factory=dict, init=False, compare=False, repr=False
    )

    def __post_init__(self) -> None:
        object.__setattr__(self, "empty_leaves", EmptyObjectLeaves(self.empty))
        object.__setattr__(self, "reset_fields", field_sets.of_paths(self.reset))


class OwnershipUpdate(msgspec.Struct, frozen=True):
    """Where and when one write happens, and how it changes the owners."""

    node: TypeNode | None
    api_version: str
    subresource: str
    time: str
    endpoint: Endpoint

    def taken(
        self, before: JsonObject, after: JsonObject, owners: Owners, name: str, change: Comparison
    ) -> Owners | NeedsConversion:
        """The owners once ``name`` has made this change from ``before`` to ``after``."""
        updater = Owner(name, UPDATE, self.api_version, self.subresource)
        if change.modified and self._stays(owners, updater, change):
            return {**owners, updater: owners[updater]._replace(time=self.time)}
        managers = self.without_changed(owners, before, after, change)
        if isinstance(managers, NeedsConversion):
            return managers
        taken = difference(union(change.added, change.modified), UNTRACKED)
        if taken:
            own = managers.get(updater)
            fields = union(own.fields, taken) if own else taken
            managers[updater] = Owned(fields, self.api_version, self.time)
        return managed_fields.cap_updaters(managers)

    def _stays(self, owners: Owners, updater: Owner, change: Comparison) -> bool:
        """Whether no field changes hands: what was modified was the updater's, and only its.

        So it is with nearly every update, and entries need not be taken apart to find it out.
        """
        own = owners.get(updater)
        if own is None or change.added or meets(change.modified, UNTRACKED):
            return False
        if len(owners) > MAX_UPDATERS:
            return False
        if not includes(own.fields, change.modified) or meets(own.fields, change.removed):
            return False
        for manager, owned in owners.items():
            fields = owned.fields
            # Other versions may see other changes, or be none of this kind.
            if not fields or owned.api_version != self.api_version:
                return False
            if manager != updater and (
                meets(fields, change.modified) or meets(fields, change.removed)
            ):
                return False
        return True

    def created(self, obj: JsonObject, name: str) -> Owners:
        """The owners of an object that ``name`` has just made; no others are known.

        Objects of one shape are owned alike, so that most find it done.
        """
        endpoint = self.endpoint
        shape = endpoint.specs.everything(obj, plan_of(self.node))
        key = (id(shape), endpoint.empty_leaves.kept(obj))
        known = endpoint.created.get(key)
        if known is None:
            change = self.change(dict(endpoint.empty), obj)
            taken = difference(union(change.added, change.modified), UNTRACKED)
            known = (shape, taken)
            if is_cached(shape):
                if len(endpoint.created) >= _CREATED_MAX:
                    endpoint.created.clear()
                endpoint.created[key] = known
        if not known[1]:
            return {}
        owner = Owner(name, UPDATE, self.api_version, self.subresource)
        return {owner: Owned(known[1], self.api_version, self.time)}

    def change(self, before: JsonObject, after: JsonObject) -> Comparison:
        return self._tracked(compare(before, after, self.node))

    def without_changed(
        self,
        owners: Owners,
        before: JsonObject,
        after: JsonObject,
        change: Comparison,
        *,
        but: Owner | None = None,
    ) -> Owners | NeedsConversion:
        """The owners without what changed, each compared in the version it wrote in."""
        kept: Owners = {}
        for manager, owned in owners.items():
            if manager == but:
                kept[manager] = owned
                continue
            seen = self.change_in(owned.api_version, before, after, change)
            if seen is None:
                continue
            if isinstance(seen, NeedsConversion):
                return seen
            fields = owned.fields
            for changed in (seen.added, seen.modified, seen.removed):
                if changed:
                    fields = difference(fields, changed)
            if fields:
                kept[manager] = owned if fields is owned.fields else owned._replace(fields=fields)
        return kept

    def change_in(
        self, version: str, before: JsonObject, after: JsonObject, change: Comparison
    ) -> Comparison | NeedsConversion | None:
        """``change`` as another version sees it; None if the kind has no such version."""
        if version == self.api_version:
            return change
        if self.endpoint.convert is None:
            return None
        old = self.endpoint.convert(before, version)
        if not isinstance(old, InVersion):
            return old
        new = self.endpoint.convert(after, version)
        if not isinstance(new, InVersion):
            return new
        return self._tracked(compare(old.obj, new.obj, old.node))

    def _tracked(self, found: Comparison) -> Comparison:
        reset = self.endpoint.reset_fields
        if not reset:
            return found
        added, modified, removed = found
        outside = field_sets.outside
        return Comparison(outside(added, reset), outside(modified, reset), outside(removed, reset))


def owners_before(live: JsonObject | None, write: OwnershipUpdate) -> Owners:
    """The owners an apply finds; what was not tracked is owned by "before-first-apply"."""
    if live is None:
        return {}
    try:
        owners = managed_fields.decode(managed_fields.entries_of(live), stored=True)
    except ManagedFieldsError as bad:
        raise UnmappedPatchError(f"failed to decode managed fields: {bad}") from bad
    if owners:
        return owners
    return write.created(without_owners(live), BEFORE_FIRST_APPLY)


def owners_for_update(live: JsonObject | None, new: JsonObject, subresource: str) -> Owners:
    """The writer's own list if it sends a readable one, else the stored; never by subresource."""
    given, kept = managed_fields.entries_of(new), managed_fields.entries_of(live)
    if not subresource and given is not None and given != kept:
        if managed_fields.is_reset(given):
            return {}
        try:
            if owners := managed_fields.decode(given):
                return owners
        except ManagedFieldsError:
            pass
    try:
        return managed_fields.decode(kept, stored=True)
    except ManagedFieldsError:
        return {}


def without_owners(obj: Json) -> JsonObject:
    return managed_fields.with_owners(obj, {})
