"""A patch body, of whichever kind, as one thing: something that turns an object into another.

Whether the body is JSON is judged before the object is looked for, everything else after it, as
Kubernetes does; so ``read_patch`` only parses and ``apply`` does the rest.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from proreus.api import go_text
from proreus.api.group_version import GroupVersion, GroupVersionKind
from proreus.api.patch.apply import check_applied, server_side_apply
from proreus.api.patch.errors import MalformedPatch, UndecodablePatch
from proreus.api.patch.json_patch import apply_json_patch, check_operations, unknown_members
from proreus.api.patch.merge_patch import apply_merge_patch, check_merge_patch
from proreus.api.patch.strategic_merge import apply_strategic_merge
from proreus.api.status import Conflict
from proreus.api.typed import TypeNode
from proreus.api.wire import json, strict_json
from proreus.server.registry import metadata
from proreus.server.registry.kinds import not_convertible, not_registered
from proreus.server.registry.tracking import endpoint_of
from proreus.server.registry.write import Write
from proreus.server.schema.check import DecodeError, check
from proreus.server.schema.rules import JsonObject

JSON_PATCH = "application/json-patch+json"
STRATEGIC_PATCH = "application/strategic-merge-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"

FindNode = Callable[[GroupVersionKind], TypeNode | None]


@dataclass(frozen=True, slots=True)
class Patched:
    """``shown``: what an error about the result quotes; ``faults``: of the patch itself."""

    value: Any
    shown: str
    faults: tuple[str, ...] = ()


class Patch(Protocol):
    """``is_apply`` patches may create, and carry their own owners."""

    @property
    def is_apply(self) -> bool: ...

    def apply(self, write: Write, live: JsonObject | None, gvk: GroupVersionKind) -> Patched:
        """Raises PatchError, Conflict."""
        ...


def read_patch(media: str, body: bytes, *, force: bool, is_strict: bool) -> Patch:
    """Raises MalformedPatch."""
    if media == APPLY_PATCH:
        return _read_apply(body, force=force, is_strict=is_strict)
    try:
        document, duplicates = strict_json.decode_strict(body, merge_duplicates=False)
    except strict_json.JsonError as error:
        raise MalformedPatch("invalid JSON patch") from error
    if media == JSON_PATCH:
        return JsonPatch(document, duplicates)
    return MergePatch(document, duplicates, is_strategic=media == STRATEGIC_PATCH)


@dataclass(frozen=True, slots=True)
class JsonPatch:
    document: Any
    duplicates: tuple[str, ...]

    @property
    def is_apply(self) -> bool:
        return False

    def apply(self, write: Write, live: JsonObject | None, gvk: GroupVersionKind) -> Patched:
        operations = check_operations(self.document)
        value = apply_json_patch(live, operations)
        faults = [f'json patch unknown field "{path}"' for path in unknown_members(operations)]
        faults += [f'json patch duplicate field "{path}"' for path in self.duplicates]
        return Patched(value, _shown(value), tuple(faults))


@dataclass(frozen=True, slots=True)
class MergePatch:
    document: Any
    duplicates: tuple[str, ...]
    is_strategic: bool

    @property
    def is_apply(self) -> bool:
        return False

    def apply(self, write: Write, live: JsonObject | None, gvk: GroupVersionKind) -> Patched:
        assert live is not None, "only apply creates"
        faults = tuple(f'duplicate field "{path}"' for path in self.duplicates)
        if self.is_strategic:
            node = write.collection.node_of(gvk)
            value = apply_strategic_merge(live, self.document, node)
            return Patched(value, go_text.plain(self.document), faults)
        check_merge_patch(self.document)
        value = apply_merge_patch(live, self.document)
        return Patched(value, _shown(value), faults)


@dataclass(frozen=True, slots=True)
class ApplyPatch:
    document: Any
    faults: tuple[str, ...]
    force: bool

    @property
    def is_apply(self) -> bool:
        return True

    def apply(self, write: Write, live: JsonObject | None, gvk: GroupVersionKind) -> Patched:
        check_applied(self.document, gvk)
        uid = metadata.of(self.document).get("uid")
        if live is None and uid:
            raise Conflict.of(
                write.collection.resource.group_resource,
                write.name,
                f"uid mismatch: the provided object specified uid {uid}, "
                "and no existing object was found",
            )
        value = server_side_apply(
            live,
            self.document,
            write.collection.node_of(gvk),
            manager=write.field_manager,
            force=self.force,
            now=write.now,
            api_version=gvk.api_version,
            subresource=write.subresource,
            endpoint=endpoint_of(write),
        )
        return Patched(value, _shown(value), self.faults)


def _shown(value: Any) -> str:
    """Raises MalformedPatch: operations, each shallow, can build what is too deep to be written."""
    try:
        return json.encode(value).decode()
    except TypeError as deep:
        raise MalformedPatch("exceeded max depth") from deep


def decode_patched(
    patched: Patched, gvk: GroupVersionKind, find_node: FindNode
) -> tuple[JsonObject, list[str]]:
    """The result as an object of its kind, and the fields that has not.

    Raises UndecodablePatch.
    """
    value = patched.value
    if not isinstance(value, dict):
        raise UndecodablePatch(patched.shown, "the patched document is no object")
    kind, version = value.get("kind") or gvk.kind, value.get("apiVersion") or gvk.api_version
    if (kind, version) != (gvk.kind, gvk.api_version):
        given = GroupVersion.parse(str(version)).kind(str(kind))
        is_known = find_node(given) is not None
        why = not_convertible(given, gvk) if is_known else not_registered(given)
        raise UndecodablePatch(patched.shown, why)
    node = find_node(gvk)
    if node is None:
        return value, []
    try:
        checked = check(node, value, b"")
    except DecodeError as error:
        raise UndecodablePatch(patched.shown, str(error)) from error
    obj = checked.value
    obj["kind"], obj["apiVersion"] = gvk.kind, gvk.api_version
    return obj, [f'unknown field "{path}"' for path in checked.unknown_fields]


def _read_apply(body: bytes, *, force: bool, is_strict: bool) -> ApplyPatch:
    from proreus.api.wire import yaml

    try:
        document, faults = yaml.decode_strict(body)
    except yaml.YamlError as error:
        raise MalformedPatch(f"error decoding YAML: {error}") from error
    if faults and is_strict:
        lines = "".join(f"\n  {fault}" for fault in faults)
        raise MalformedPatch(
            "error strict decoding patch: error converting YAML to JSON: "
            f"yaml: unmarshal errors:{lines}"
        )
    document = {} if document is None else document
    if not isinstance(document, dict):
        raise MalformedPatch(
            "error decoding YAML: error unmarshaling JSON: while decoding JSON: json: cannot "
            f"unmarshal {go_text.json_kind(document)} into Go value of type "
            "map[string]interface {}"
        )
    return ApplyPatch(document, faults, force)
