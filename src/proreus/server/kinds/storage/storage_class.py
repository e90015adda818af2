"""StorageClass: how volumes are provisioned."""

from __future__ import annotations

from proreus.api.field_error import FieldError
from proreus.api.json_types import Json, JsonObject
from proreus.api.values import names
from proreus.server.kinds.parts.cells import age, name_of
from proreus.server.kinds.parts.findings import Findings, items
from proreus.server.resource import Cells, Lifecycle, Names, Printer, Resource, Rules


def _default(obj: JsonObject) -> None:
    obj.setdefault("reclaimPolicy", "Delete")
    obj.setdefault("volumeBindingMode", "Immediate")


def _validate(obj: JsonObject) -> list[FieldError]:
    found = Findings()
    if found.require("provisioner", obj.get("provisioner")):
        found.name("provisioner", obj["provisioner"].lower(), names.qualified_name)
    for key in obj.get("parameters") or ():
        if not key:
            found.invalid("parameters", key, "field can not be empty.")
    found.one_of("reclaimPolicy", obj.get("reclaimPolicy"), ("Delete", "Retain"))
    found.one_of(
        "volumeBindingMode", obj.get("volumeBindingMode"), ("Immediate", "WaitForFirstConsumer")
    )
    for where, term in items(obj.get("allowedTopologies"), "allowedTopologies"):
        at = f"{where}.matchLabelExpressions"
        for place, expression in items(term.get("matchLabelExpressions"), at):
            found.require(f"{place}.values", expression.get("values"))
            found.name(f"{place}.key", expression.get("key") or "", names.qualified_name)
    return found


def _validate_update(new: JsonObject, old: JsonObject) -> list[FieldError]:
    found = Findings(_validate(new))
    for key in ("parameters", "provisioner", "reclaimPolicy", "volumeBindingMode"):
        if new.get(key) != old.get(key):
            found.invalid(key, None, "field is immutable")  # the reference prints no value
    return found


_DEFAULT_ANNOTATIONS = (
    "storageclass.kubernetes.io/is-default-class",
    "storageclass.beta.kubernetes.io/is-default-class",
)


def _fill(obj: Json, now: float) -> Cells:
    annotations = (obj.get("metadata") or {}).get("annotations") or {}
    default = any(annotations.get(key) == "true" for key in _DEFAULT_ANNOTATIONS)
    return [
        f"{name_of(obj)} (default)" if default else name_of(obj),
        obj.get("provisioner", ""),
        obj.get("reclaimPolicy") or "Delete",
        obj.get("volumeBindingMode") or "Immediate",
        bool(obj.get("allowVolumeExpansion")),
        age(obj, now),
    ]


_PRINTER = Printer.of(
    _fill, "Name", "Provisioner", "ReclaimPolicy", "VolumeBindingMode", "AllowVolumeExpansion",
    "Age",
)  # fmt: skip


RESOURCES = (
    Resource(
        names=Names.of("storage.k8s.io", "v1", "StorageClass", "storageclasses", "sc"),
        namespaced=False,
        lifecycle=Lifecycle(returns_deleted=True),
        rules=Rules(default=_default, validate=_validate, validate_update=_validate_update),
        printer=_PRINTER,
    ),
)
