"""PersistentVolume: storage of the cluster that a claim can bind to."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from proreus.api.field_error import FieldError
from proreus.api.json_types import Json, JsonObject
from proreus.api.values.timestamp import format_time
from proreus.server.kinds.parts.cells import UNSET, age, name_of
from proreus.server.kinds.parts.findings import Findings
from proreus.server.kinds.parts.node_labels import current_label
from proreus.server.kinds.parts.pod_template.scheduling import internal_term
from proreus.server.kinds.parts.pod_template.volume_defaults import default_volume_source
from proreus.server.kinds.parts.pod_template.volume_warnings import persistent_volume_warnings
from proreus.server.kinds.parts.volume_cells import access_modes, class_name, phase
from proreus.server.kinds.parts.volume_specs import check_volume_spec, sources_of
from proreus.server.resource import Cells, Lifecycle, Names, Printer, Resource, Rules


def _default(obj: JsonObject) -> None:
    spec = obj["spec"]
    spec.setdefault("persistentVolumeReclaimPolicy", "Retain")
    spec.setdefault("volumeMode", "Filesystem")
    default_volume_source(spec)
    obj.setdefault("status", {}).setdefault("phase", "Pending")


def _prepare(obj: JsonObject) -> None:
    created = obj["metadata"].get("creationTimestamp") or format_time(0)
    obj["status"] = {"phase": "Pending", "lastPhaseTransitionTime": created}


def _date_status(new: JsonObject, old: JsonObject, now: float) -> None:
    """When the phase turned what it is, unless the client says."""
    status, before = new.setdefault("status", {}), old.get("status") or {}
    given, was = status.get("lastPhaseTransitionTime"), before.get("lastPhaseTransitionTime")
    if (status.get("phase") or "") == (before.get("phase") or ""):
        if given is None and was is not None:
            status["lastPhaseTransitionTime"] = was
    elif given in (None, was):
        status["lastPhaseTransitionTime"] = format_time(now)


def _validate(obj: JsonObject) -> list[FieldError]:
    found = Findings()
    check_volume_spec(found, "spec", obj["spec"], obj["metadata"].get("name") or "")
    return found


def _validate_update(new: JsonObject, old: JsonObject) -> list[FieldError]:
    found = Findings(_validate(new))
    spec, before = new["spec"], old["spec"]
    sources = {key: spec[key] for key in sources_of(spec)}
    csi, had_csi = sources.get("csi"), before.get("csi")
    if csi and had_csi and "controllerExpandSecretRef" not in had_csi:
        sources["csi"] = {k: v for k, v in csi.items() if k != "controllerExpandSecretRef"}
    if sources != {key: before[key] for key in sources_of(before)}:
        found.forbid(
            "spec.persistentvolumesource", "spec.persistentvolumesource is immutable after creation"
        )
    found.unchanged(spec, before, "volumeMode")
    affinity, was = spec.get("nodeAffinity"), before.get("nodeAffinity")
    if was is not None and affinity != was and _with_new_labels(was) != affinity:
        why = "field is immutable, except for updating from beta label to GA"
        found.invalid("nodeAffinity", _internal_affinity(affinity), why)
    had = before.get("volumeAttributesClassName")
    if had is not None and spec.get("volumeAttributesClassName") is None:
        why = "update from non-nil value to nil is forbidden"
        found.forbid("spec.volumeAttributesClassName", why)
    return found


def _with_new_labels(affinity: Json) -> Json:
    """The affinity with deprecated node labels replaced by their current names."""
    found = deepcopy(dict(affinity))
    for term in (found.get("required") or {}).get("nodeSelectorTerms") or ():
        for expression in term.get("matchExpressions") or ():
            expression["key"] = current_label(expression.get("key") or "")
    return found


def _internal_affinity(affinity: Json | None) -> dict[str, Any] | None:
    """As Kubernetes prints its internal form."""
    if affinity is None:
        return None
    terms = (affinity.get("required") or {}).get("nodeSelectorTerms") or []
    return {"Required": {"NodeSelectorTerms": [internal_term(term) for term in terms]}}


def _fill(obj: Json, now: float) -> Cells:
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    claim = spec.get("claimRef")
    return [
        name_of(obj),
        str((spec.get("capacity") or {}).get("storage", "0")),
        access_modes(spec.get("accessModes")),
        spec.get("persistentVolumeReclaimPolicy", ""),
        phase(obj),
        f"{claim.get('namespace', '')}/{claim.get('name', '')}" if claim else "",
        class_name(obj),
        spec.get("volumeAttributesClassName") or UNSET,
        status.get("reason", ""),
        age(obj, now),
        spec.get("volumeMode") or UNSET,
    ]


_PRINTER = Printer.of(
    _fill, "Name", "Capacity", "Access Modes", "Reclaim Policy", "Status", "Claim",
    "StorageClass", "VolumeAttributesClass", "Reason", "Age", "VolumeMode*",
)  # fmt: skip


RESOURCES = (
    Resource(
        names=Names.of("", "v1", "PersistentVolume", "persistentvolumes", "pv"),
        namespaced=False,
        has_status=True,
        lifecycle=Lifecycle(returns_deleted=True),
        rules=Rules(
            default=_default,
            prepare_create=_prepare,
            date_status=_date_status,
            validate=_validate,
            validate_update=_validate_update,
            warnings=persistent_volume_warnings,
        ),
        printer=_PRINTER,
    ),
)
