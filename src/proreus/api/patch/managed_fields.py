"""metadata.managedFields: who owns which fields, decoded, changed by writes, encoded again.

An applier is one manager whatever version it used; an updater is one per version. Entries of both
are one per subresource. ``Owners`` is a plain dict that ``apply`` and ``track`` rebuild; field
sets in it are never changed in place.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from proreus.api import go_text
from proreus.api.json_types import Json, JsonObject
from proreus.api.patch import field_sets
from proreus.api.patch.field_sets import FieldSetError, Tree
from proreus.api.patch.json_patch import same
from proreus.api.wire import json

APPLY, UPDATE = "Apply", "Update"
MAX_UPDATERS = 10
ANCIENT = "ancient-changes"
BEFORE_FIRST_APPLY = "before-first-apply"

# Fields that belong to the server, or have no owner.
UNTRACKED: Tree = field_sets.of_paths(
    (("apiVersion",), ("kind",), ("metadata",), *(
        ("metadata", name)
        for name in ("name", "namespace", "creationTimestamp", "selfLink", "uid", "generation",
                     "managedFields", "resourceVersion")
    ))
)  # fmt: skip


class ManagedFieldsError(ValueError):
    """Entries that no server wrote."""


class Owner(NamedTuple):
    """What makes an entry one; ``api_version`` is empty for appliers."""

    name: str
    operation: str
    api_version: str = ""
    subresource: str = ""

    def __str__(self) -> str:
        """As a conflict names it."""
        text = go_text.quoted(self.name)
        if self.subresource:
            text += f" with subresource {go_text.quoted(self.subresource)}"
        return f"{text} using {self.api_version}" if self.operation == UPDATE else text


class Owned(NamedTuple):
    """The fields of one manager, as of one version. ``time`` is empty if it never changed any."""

    fields: Tree
    api_version: str
    time: str = ""


Owners = dict[Owner, Owned]


def decode(entries: Any, *, stored: bool = False) -> Owners:
    """Raises ManagedFieldsError if one entry is not as a server would write it.

    Stored entries are taken as they are: their sets were read and sorted before they were stored.
    """
    managers: Owners = {}
    for index, entry in enumerate(entries or ()):
        if not isinstance(entry, dict):
            raise ManagedFieldsError(f"entry {index} is no object")
        operation = entry.get("operation")
        if operation not in (APPLY, UPDATE):
            raise ManagedFieldsError(f"invalid operation in managed fields entry {index}")
        if entry.get("fieldsType") != "FieldsV1":
            raise ManagedFieldsError(f"invalid fieldsType in managed fields entry {index}")
        version = entry.get("apiVersion") or ""
        if not version and not stored:
            raise ManagedFieldsError(f"no apiVersion in managed fields entry {index}")
        manager = Owner(
            entry.get("manager") or "",
            operation,
            version if operation == UPDATE else "",
            entry.get("subresource") or "",
        )
        fields = entry.get("fieldsV1") or {}
        if not stored:
            fields = _parse(fields, index)
        managers[manager] = Owned(fields, version, entry.get("time") or "")
    return managers


def _parse(fields: Any, index: int) -> Tree:
    try:
        return field_sets.parse(fields)
    except (FieldSetError, RecursionError) as bad:
        raise ManagedFieldsError(f"error decoding set from {index}: {bad}") from bad


def encode(managers: Owners) -> list[JsonObject]:
    """The entries in the order a server keeps them."""
    ordered = sorted(
        managers.items(),
        key=lambda item: (
            item[0].operation, item[1].time, item[0].name, item[1].api_version, item[0].subresource
        ),
    )  # fmt: skip
    return [_entry(manager, owned) for manager, owned in ordered]


def with_owners(obj: Json, managers: Owners) -> JsonObject:
    """A copy of the object with these managers; without the field if there are none."""
    metadata = {**(obj.get("metadata") or {})}
    metadata.pop("managedFields", None)
    if managers:
        metadata["managedFields"] = encode(managers)
    return {**obj, "metadata": metadata}


def entries_of(obj: Json | None) -> Any:
    return ((obj or {}).get("metadata") or {}).get("managedFields")


def is_reset(entries: Any) -> bool:
    """Whether a client asks to forget all owners: an empty list, or one empty entry."""
    return entries in ([], [{}])


def cap_updaters(managers: Owners) -> Owners:
    """Join the oldest updaters of each version into one, until no more than ten are left."""
    updaters = [manager for manager in managers if manager.operation == UPDATE]
    excess = len(updaters) - MAX_UPDATERS
    if excess <= 0:
        return managers
    capped = dict(managers)
    oldest: dict[str, Owner] = {}
    for manager in sorted(updaters, key=lambda m: (managers[m].time, m)):
        if excess <= 0:
            break
        owned = capped[manager]
        first = oldest.setdefault(owned.api_version, manager)
        if first is manager:
            continue
        bucket = Owner(ANCIENT, UPDATE, owned.api_version)
        earlier = capped.pop(bucket, None) or capped.pop(first)
        del capped[manager]
        capped[bucket] = owned._replace(fields=field_sets.union(owned.fields, earlier.fields))
        excess -= 1
    return capped


def keep_times(live: Json | None, new: JsonObject) -> JsonObject:
    """``new`` with the times of ``live`` if it differs from it in nothing else.

    Without this every repeated write would change the time of its entry and thus be a change.
    """
    old_entries, new_entries = entries_of(live), entries_of(new)
    if live is None or not old_entries or not new_entries:
        return new
    if _timeless(old_entries) != _timeless(new_entries):
        return new
    kept = {**new, "metadata": {**new["metadata"], "managedFields": old_entries}}
    return kept if kept == live and _is_same(kept, live) else new


def _entry(manager: Owner, owned: Owned) -> JsonObject:
    entry: JsonObject = {
        "manager": manager.name,
        "operation": manager.operation,
        "apiVersion": owned.api_version,
    }
    if not manager.name:
        del entry["manager"]
    if owned.time:
        entry["time"] = owned.time
    entry["fieldsType"] = "FieldsV1"
    entry["fieldsV1"] = owned.fields
    if manager.subresource:
        entry["subresource"] = manager.subresource
    return entry


def _timeless(entries: list[JsonObject]) -> list[JsonObject]:
    # Times order the entries, so they may stand elsewhere once the times differ.
    identity = ("manager", "operation", "apiVersion", "subresource")
    return sorted(
        ({k: v for k, v in entry.items() if k != "time"} for entry in entries),
        key=lambda entry: [str(entry.get(key, "")) for key in identity],
    )


def _is_same(left: Json, right: Json) -> bool:
    """Whether two equal objects are so as JSON too, where 1, 1.0 and true are three values."""
    one, other = json.encode(left), json.encode(right)
    return one == other or (len(one) == len(other) and same(left, right))
