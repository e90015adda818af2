"""VolumeAttachment: a volume that is or shall be attached to a node."""

from __future__ import annotations

from proreus.api import field_error
from proreus.api.field_error import FieldError
from proreus.api.json_types import Json, JsonObject
from proreus.server.kinds.parts.cells import age, name_of
from proreus.server.kinds.parts.findings import Findings, immutable_spec
from proreus.server.kinds.parts.pod_template.volumes import check_driver
from proreus.server.kinds.parts.volume_specs import check_inline_spec
from proreus.server.resource import Cells, Lifecycle, Names, Printer, Resource, Rules

_METADATA_MAX = 256 * 1024
_MESSAGE_MAX = 1024
_VOLUME = "persistentVolumeName"
_ONE_SOURCE = "must specify exactly one of inlineVolumeSpec and persistentVolumeName"


def _validate(obj: JsonObject) -> list[FieldError]:
    found, spec = _found_by_functions(obj), obj["spec"]
    # Of v1 alone, and only of new ones.
    found.name("spec.source.persistentVolumeName", (spec.get("source") or {}).get(_VOLUME))
    # Declared by the type, so checked last.
    check_driver(found, "spec.attacher", spec.get("attacher") or "")
    return found


def _validate_update(new: JsonObject, old: JsonObject) -> list[FieldError]:
    return [*_found_by_functions(new), *immutable_spec(new, old)]


def _found_by_functions(obj: Json) -> Findings:
    found, spec = Findings(), obj["spec"]
    source = spec.get("source") or {}
    volume = source.get(_VOLUME)
    if volume is not None and source.get("inlineVolumeSpec") is not None:
        found.forbid("spec.source", _ONE_SOURCE)
    elif volume is None and source.get("inlineVolumeSpec") is None:
        found.require("spec.source", None, _ONE_SOURCE)
    elif volume == "":
        why = "must specify non empty persistentVolumeName"
        found.require("spec.source.persistentVolumeName", None, why)
    elif volume is None:
        check_inline_spec(found, "spec.source.inlineVolumeSpec", source["inlineVolumeSpec"])
    found.name("spec.nodeName", spec.get("nodeName") or "")
    return found


def _validate_status(new: JsonObject, _: JsonObject) -> list[FieldError]:
    found, status = Findings(), new.get("status") or {}
    size = sum(
        len(key.encode()) + len(value.encode())
        for key, value in (status.get("attachmentMetadata") or {}).items()
    )
    if size > _METADATA_MAX:
        found.append(field_error.too_long("status.attachmentMetadata", _METADATA_MAX))
    for key in ("attachError", "detachError"):
        error = status.get(key) or {}
        if len((error.get("message") or "").encode()) > _MESSAGE_MAX:
            # The limit that is printed is another one; so does Kubernetes.
            found.append(field_error.too_long(f"status.{key}.message", _METADATA_MAX))
        code = error.get("errorCode")
        found.between(f"status.{key}.errorCode", code, 0, 2**31 - 1)
    return found


def _fill(obj: Json, now: float) -> Cells:
    spec = obj.get("spec") or {}
    return [
        name_of(obj),
        spec.get("attacher", ""),
        (spec.get("source") or {}).get("persistentVolumeName") or "",
        spec.get("nodeName", ""),
        bool((obj.get("status") or {}).get("attached")),
        age(obj, now),
    ]


RESOURCES = (
    Resource(
        names=Names.of("storage.k8s.io", "v1", "VolumeAttachment", "volumeattachments"),
        namespaced=False,
        has_status=True,
        lifecycle=Lifecycle(
            status_keeps_metadata=True, unconditional_update=False, returns_deleted=True
        ),
        rules=Rules(
            validate=_validate, validate_update=_validate_update, validate_status=_validate_status
        ),
        printer=Printer.of(
            _fill, "Name", "Attacher:string:name", "PV", "Node", "Attached:boolean", "Age"
        ),
    ),
)
