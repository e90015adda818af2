"""Who owns which field: keeps metadata.managedFields with every write (server.md §6.5).

Ownership is recorded in the version a write was made in; the result goes into the stored object.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from proreus.api.group_version import GroupVersion, GroupVersionKind
from proreus.api.json_types import JsonObject
from proreus.api.patch.apply import entries_after, ownership_update
from proreus.api.patch.errors import UnknownOwnerVersion
from proreus.api.patch.json_patch import same
from proreus.api.patch.ownership import Endpoint, InVersion, NeedsConversion
from proreus.server.registry import metadata
from proreus.server.registry.write import Write
from proreus.server.schema.check import zero

_VOLATILE = ("managedFields", "resourceVersion")


def track(write: Write, live: JsonObject | None, stored: JsonObject) -> NeedsConversion | None:
    """Note in ``stored`` what its writer changed. Both are in the stored version."""
    collection = write.collection
    fields = entries_after(
        collection.to_served(live) if live is not None else None,
        collection.to_served(stored),
        ownership_update(
            collection.node,
            collection.resource.api_version,
            write.subresource,
            write.now,
            endpoint_of(write),
        ),
        write.field_manager,
    )
    if isinstance(fields, NeedsConversion):
        return fields
    if fields:
        stored["metadata"]["managedFields"] = fields
    else:
        stored["metadata"].pop("managedFields", None)
    return None


def track_part(write: Write, live: JsonObject, new: JsonObject, kind: GroupVersionKind) -> None:
    """``track`` for what a subresource shows of an object in a kind of its own: a Scale."""
    node = write.collection.node_of(kind)
    update = ownership_update(
        node, kind.api_version, write.subresource, write.now, endpoint_of(write)
    )
    fields = entries_after(live, new, update, write.field_manager)
    assert isinstance(fields, list), "nothing converts a Scale"
    metadata.ensure(new)["managedFields"] = fields


def endpoint_of(write: Write) -> Endpoint:
    """What the endpoint resets, so that its writers do not own it."""
    found = write.collection.endpoints.get(write.subresource)
    if found is None:
        found = write.collection.endpoints[write.subresource] = _endpoint(write)
    return found


def _endpoint(write: Write) -> Endpoint:
    collection = write.collection
    if write.subresource == "scale":
        return Endpoint()  # of the Scale, which is what owners are tracked of
    reset: tuple[tuple[str, ...], ...]
    if write.subresource == "status":
        reset = (("spec",), *collection.resource.rules.kept_by_status)
    elif collection.resource.has_status:
        reset = (("status",),)
    else:
        reset = ()
    node = collection.node
    empty: Mapping[str, Any] = zero(node) if node is not None else {"metadata": {}}
    versions = collection.resource.versions

    def convert(obj: JsonObject, version: str) -> InVersion | NeedsConversion | None:
        other = GroupVersion.parse(version).kind(collection.resource.kind)
        try:
            if versions is None:
                found = collection.convert(obj, other)
            else:
                known = versions.converted_nowait(obj, version)
                if isinstance(known, NeedsConversion):
                    return known
                found = known
            return InVersion(found, collection.find_node(other))
        except KeyError as unknown:
            if collection.resource.custom:
                raise UnknownOwnerVersion(version) from unknown
            return None

    return Endpoint(reset=reset, empty=empty, convert=convert)


def is_unchanged(new: JsonObject, old: JsonObject) -> bool:
    """Nothing changed, or nothing but when a manager last wrote what it had written already.

    Most writes change something, which a plain comparison finds at its first difference.
    """
    after, before = _lasting(new), _lasting(old)
    if after != before or not same(after, before):
        return False
    return _owners(new["metadata"]) == _owners(old["metadata"])


def _lasting(obj: JsonObject) -> JsonObject:
    kept = {**obj["metadata"]}
    for key in _VOLATILE:
        kept.pop(key, None)
    return {**obj, "metadata": kept}


def _owners(meta: Mapping[str, Any]) -> dict[tuple[str, ...], Any]:
    return {
        tuple(str(entry.get(key, "")) for key in _IDENTITY): entry.get("fieldsV1")
        for entry in meta.get("managedFields") or ()
    }


_IDENTITY = ("manager", "operation", "apiVersion", "subresource")
