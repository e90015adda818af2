"""VolumeAttachment: a volume that is or shall be attached to a node."""

from __future__ import annotations

from proreus.api.field_error import FieldError
from proreus.api.json_types import Json, JsonObject
from proreus.server.kinds.parts.cells import age, name_of
from proreus.server.kinds.parts.findings import Findings, immutable_spec
from proreus.server.kinds.parts.pod_template.volumes import check_driver
from proreus.server.resource import Cells, Lifecycle, Names, Printer, Resource, Rules

_ONE_SOURCE = "must specify exactly one of inlineVolumeSpec and persistentVolumeName"


def _validate(obj: JsonObject) -> list[FieldError]:
    found, spec = Findings(), obj["spec"]
    attacher, source = spec.get("attacher") or "", spec.get("source") or {}
    volume = source.get("persistentVolumeName")
    found.require("spec.attacher", attacher)
    if volume is not None and source.get("inlineVolumeSpec") is not None:
        found.forbid("spec.source", _ONE_SOURCE)
    elif volume is None and source.get("inlineVolumeSpec") is None:
        found.require("spec.source", None, _ONE_SOURCE)
    elif volume == "":
        why = "must specify non empty persistentVolumeName"
        found.require("spec.source.persistentVolumeName", None, why)
    found.name("spec.nodeName", spec.get("nodeName") or "")
    check_driver(found, "spec.attacher", attacher)
    found.name("spec.source.persistentVolumeName", volume)
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
        rules=Rules(validate=_validate, validate_update=immutable_spec),
        printer=Printer.of(
            _fill, "Name", "Attacher:string:name", "PV", "Node", "Attached:boolean", "Age"
        ),
    ),
)
