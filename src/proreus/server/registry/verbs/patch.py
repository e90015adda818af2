"""Patch: the present object changed by a JSON patch or a merge patch (server.md §6.3).

That the body is JSON is checked before the object is looked up, everything else after it, as
Kubernetes does; so ``read_patch`` only parses and ``PatchedObject`` does the rest.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar, NamedTuple, Protocol

import msgspec

from proreus.api import go_text
from proreus.api.field_error import limited
from proreus.api.group_version import GroupVersionKind
from proreus.api.json_types import Json, JsonObject
from proreus.api.patch.errors import (
    MalformedPatch,
    PatchError,
    UndecodablePatch,
    UnmappedPatchError,
)
from proreus.api.patch.json_patch import apply_json_patch, check_operations, unknown_members
from proreus.api.patch.merge_patch import apply_merge_patch, check_merge_patch
from proreus.api.patch.ownership import NeedsConversion
from proreus.api.patch.patch_type import PatchType
from proreus.api.patch.strategic_merge import apply_strategic_merge
from proreus.api.patch.strategic_rest import rest_of
from proreus.api.patch.value_text import value_texts
from proreus.api.patch.written_order import in_written_order
from proreus.api.typed import TypeNode
from proreus.api.wire import json, strict_json
from proreus.api.wire.amplification import check_json
from proreus.server.registry.declared_types import (
    UnreadableType,
    check_patched_version,
    declared_type,
    missing_kind,
    null_version,
)
from proreus.server.registry.kinds import not_convertible, not_registered
from proreus.server.registry.strategy import strategy_for
from proreus.server.registry.verbs.update import Update, check_name
from proreus.server.registry.write import Write
from proreus.server.resource.versions import run_with_conversions
from proreus.server.schema.check import Checked, DecodeError, check, unknown_fields
from proreus.server.schema.copied_numbers import with_copied_numbers


def patching(write: Write, document: PatchDocument) -> Update:
    """PATCH: the present object with the changes of the document."""
    return Update(
        write,
        PatchedObject(document, write.collection.resource.gvk),
        may_create=document.is_apply and not write.subresource,
        tracks=not document.is_apply,
        is_patch=True,
    )


class Patched(msgspec.Struct, frozen=True):
    """``value`` may share parts with the live object and with the patch: those are never changed.
    ``quote``: what an error about it quotes.

    ``faults``: of the patch itself. ``written``: the result as Kubernetes writes and decodes it;
    else it takes values over one by one. ``context``: what an error about such a value begins with,
    which then quotes nothing.
    """

    value: Any
    quote: Callable[[], str]
    faults: tuple[str, ...] = ()
    written: Callable[[], Any] | None = None
    context: str = ""

    @property
    def is_text(self) -> bool:
        return self.written is not None


class PatchDocument(Protocol):
    """A parsed patch of one of the four kinds.

    ``is_apply``: there need be no object yet, and its result names the owners of fields already.
    """

    is_apply: ClassVar[bool]

    def apply(
        self, write: Write, live: JsonObject | None, gvk: GroupVersionKind
    ) -> Patched | NeedsConversion:
        """Raises PatchError, Conflict."""
        ...


class PatchedObject(msgspec.Struct, frozen=True):
    """The modification by a patch; its result is checked like a body of the kind ``gvk``."""

    document: PatchDocument
    gvk: GroupVersionKind

    async def modify(self, write: Write, live: JsonObject | None) -> JsonObject:
        resource, gvk = write.collection.resource, self.gvk
        try:
            patched = await run_with_conversions(
                resource.versions, lambda: self.document.apply(write, live, gvk), write.runner
            )
            obj, unknown = await write.runner.run(lambda: _decode(patched, live, gvk, write))
            faults = [*patched.faults, *unknown]
            if faults and write.field_validation == "Strict":
                text = f"strict decoding error: {', '.join(limited(faults))}"
                raise UndecodablePatch(patched.quote(), text)
        except PatchError as error:
            raise error.to_status() from error
        if write.field_validation != "Ignore":
            for fault in faults:
                write.warn(fault)
        check_name(obj, write.name)
        if resource.custom:
            check_patched_version(obj, gvk, is_status=write.subresource == "status")
        return obj


def read_patch(media: str, body: bytes) -> JsonPatch | MergePatch:
    """Raises MalformedPatch, TooManyContainers."""
    check_json(body)
    try:
        document, duplicates = strict_json.decode_strict(body, merge_duplicates=False)
    except strict_json.JsonError as error:
        raise MalformedPatch("invalid JSON patch") from error
    if media == PatchType.JSON:
        return JsonPatch(document, duplicates, body)
    return MergePatch(document, duplicates, is_strategic=media == PatchType.STRATEGIC)


class JsonPatch(msgspec.Struct, frozen=True):
    is_apply: ClassVar[bool] = False
    document: Any
    duplicates: tuple[str, ...]
    body: bytes

    def apply(self, write: Write, live: JsonObject | None, gvk: GroupVersionKind) -> Patched:
        is_validated = write.field_validation != "Ignore"
        operations = check_operations(self.document, is_validated=is_validated)
        is_tested = any(operation.get("op") == "test" for operation in operations)
        texts = value_texts(self.body) if is_tested else None
        value = apply_json_patch(live, operations, texts)
        faults = [f'json patch unknown field "{path}"' for path in unknown_members(operations)]
        faults += [f'json patch duplicate field "{path}"' for path in self.duplicates]
        raw = {id(operation.get("value")) for operation in operations}
        written = partial(in_written_order, value, live, raw)
        return Patched(value, partial(text_of, value), tuple(faults), written)


class MergePatch(msgspec.Struct, frozen=True):
    is_apply: ClassVar[bool] = False
    document: Any
    duplicates: tuple[str, ...]
    is_strategic: bool

    def apply(self, write: Write, live: JsonObject | None, gvk: GroupVersionKind) -> Patched:
        assert live is not None, "only apply creates"
        faults = tuple(f'duplicate field "{path}"' for path in self.duplicates)
        if self.is_strategic:
            node = write.collection.node_of(gvk)
            value = apply_strategic_merge(live, self.document, node)
            return Patched(
                value, lambda: go_text.plain(rest_of(live, self.document or {}, node)), faults
            )
        if write.field_validation != "Ignore":
            check_merge_patch(self.document)
        value = apply_merge_patch(live, self.document)
        written = partial(in_written_order, value, live)
        return Patched(value, partial(text_of, value), faults, written)


def text_of(value: Any) -> str:
    return json.canonical(value).decode()


class _Own(NamedTuple):
    """A patched value to be changed. ``unchanged``: parts as the live object has them, which were
    checked when they were written."""

    value: Any
    unchanged: Json


_NONE: Any = object()  # nulls are one object, given or missing


def _own(value: Any, live: Json | None, write: Write) -> _Own:
    """A copy of the patched value, but for what the endpoint takes from the live object anyway.

    Raises MalformedPatch: operations, each shallow, can build what is too deep to be written.
    """
    unchanged = {}
    if live is not None and value.__class__ is dict:
        unchanged = {key: part for key, part in value.items() if part is live.get(key, _NONE)}
    is_restored = strategy_for(write.collection.resource, write.subresource).restores
    shared = {key for key in unchanged if is_restored(key)}
    copied = {key: part for key, part in value.items() if key not in shared} if shared else value
    try:
        text = json.encode(copied)
    except TypeError as deep:
        raise MalformedPatch("exceeded max depth") from deep
    own = json.decode(text)
    if shared:
        own = {key: part if key in shared else own[key] for key, part in value.items()}
    return _Own(own, {key: own[key] for key in unchanged})


def _restore_fault(node: TypeNode, value: Any) -> str:
    """Why values that are decoded already do not fit the type, "" if they do."""
    try:
        check(node, value, is_text=False)
    except DecodeError as error:
        return str(error)
    return ""


def _decode(
    patched: Patched, live: Json | None, gvk: GroupVersionKind, write: Write
) -> tuple[JsonObject, list[str]]:
    """The result as an object of its kind, and a fault for each field that the kind lacks.

    Raises UndecodablePatch.
    """
    find_node = write.collection.node_of
    node = find_node(gvk)
    is_custom = node is not None and node.decode is not None
    is_compared = not is_custom and gvk == write.collection.resource.gvk
    value, unchanged = _own(patched.value, live if is_compared else None, write)
    value = {} if is_custom and value is None else value
    try:
        declared = declared_type(value)
    except UnreadableType as error:
        why = str(error) if patched.is_text or node is None else _restore_fault(node, value)
        raise UndecodablePatch(patched.quote(), why or str(error)) from error
    if is_custom:
        why = null_version(value) if declared.kind else missing_kind(patched.quote())
        if why:
            raise UndecodablePatch(patched.quote(), why)
    elif not value.get("apiVersion") and node is not None:
        # A kube-apiserver decodes an object without a version into the type it works on, whose
        # fields have no JSON names: nothing is read, and the name is missed first.
        return {"metadata": {}}, []
    given = declared.completed(gvk)
    if not is_custom and given != gvk:
        is_known = find_node(given) is not None
        why = not_convertible(given, gvk) if is_known else not_registered(given)
        raise UndecodablePatch(patched.quote(), why)
    if node is None:
        return value, []
    try:
        checked = _checked(node, patched, value, unchanged)
        unknown = checked.unknown_fields
        if unknown and not is_custom:
            unknown = _unknown_in_order(node, patched)
    except DecodeError as error:
        if patched.context and not is_custom:
            raise UnmappedPatchError(f"{patched.context}: {error}") from error
        why = str(error) if is_custom else _first_fault(node, patched) or str(error)
        raise UndecodablePatch(patched.quote(), why) from error
    obj = checked.value
    if not is_custom:
        obj["kind"], obj["apiVersion"] = gvk.kind, gvk.api_version
    return obj, [f'unknown field "{path}"' for path in unknown]


def _checked(node: TypeNode, patched: Patched, value: Any, unchanged: Json) -> Checked:
    try:
        return check(node, value, is_text=patched.is_text, unchanged=unchanged)
    except DecodeError:
        if patched.is_text or node.decode is not None:
            raise
        copied = with_copied_numbers(node, value)
        return check(node, copied, is_text=False, unchanged=unchanged)


def _unknown_in_order(node: TypeNode, patched: Patched) -> list[str]:
    if patched.written is None:
        return sorted(unknown_fields(node, patched.value))
    return unknown_fields(node, patched.written())


def _first_fault(node: TypeNode, patched: Patched) -> str:
    """Of several values that do not fit, the one that is read first."""
    if patched.written is None:
        return ""
    try:
        check(node, json.decode(json.encode(patched.written())))
    except DecodeError as error:
        return str(error)
    return ""
