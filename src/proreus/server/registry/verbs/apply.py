"""Apply: a manager states the fields it wants, and owns them from then on (server.md §6.5)."""

from __future__ import annotations

from functools import partial
from typing import Any, ClassVar

from proreus.api import go_text
from proreus.api.group_version import GroupVersionKind
from proreus.api.json_types import JsonObject
from proreus.api.patch.apply import check_applied, go_kind, go_name, server_side_apply
from proreus.api.patch.errors import MalformedPatch, UnmappedPatchError
from proreus.api.patch.ownership import NeedsConversion
from proreus.api.status import Conflict
from proreus.lazy_dataclass import dataclass
from proreus.server.registry.tracking import endpoint_of
from proreus.server.registry.verbs.patch import Patched, text_of
from proreus.server.registry.write import Write


@dataclass(frozen=True, slots=True)
class ApplyPatch:
    is_apply: ClassVar[bool] = True
    document: Any
    faults: tuple[str, ...]

    def apply(
        self, write: Write, live: JsonObject | None, gvk: GroupVersionKind
    ) -> Patched | NeedsConversion:
        check_applied(self.document, gvk)
        given = self.document.setdefault("metadata", {})
        uid = given.get("uid") if isinstance(given, dict) else None
        if live is None and uid:
            raise Conflict.of(
                write.collection.resource.group_resource,
                write.name,
                f"uid mismatch: the provided object specified uid {uid}, "
                "and no existing object was found",
            )
        if write.subresource == "scale" and write.collection.resource.custom:
            # A kube-apiserver knows the types of a definition alone, not that of its Scale.
            raise UnmappedPatchError(
                f"failed to create typed patch object ({go_name(self.document)}): "
                f"no corresponding type for {go_kind(gvk)}"
            )
        value = server_side_apply(
            live,
            self.document,
            write.collection.node_of(gvk),
            manager=write.field_manager,
            force=write.force,
            now=write.now,
            api_version=gvk.api_version,
            subresource=write.subresource,
            endpoint=endpoint_of(write),
        )
        if isinstance(value, NeedsConversion):
            return value
        context = (
            f"failed to convert new object ({go_name(self.document)}) to proper version: "
            f"unable to convert unstructured object to {go_kind(gvk)}"
        )
        quote = partial(text_of, value)
        return Patched(value, quote, self.faults, context=context)


def read_apply(body: bytes, *, is_strict: bool) -> ApplyPatch:
    """Raises MalformedPatch."""
    from proreus.api.wire import yaml

    try:
        document, faults = yaml.decode_strict(body)
    except yaml.YamlError as error:
        why = f"error decoding YAML: error converting YAML to JSON: {error}"
        raise MalformedPatch(why) from error
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
    return ApplyPatch(document, faults)
