"""StorageClass: how volumes are provisioned."""

from __future__ import annotations

from proreus.api.field_error import FieldError
from proreus.api.json_types import Json, JsonObject
from proreus.api.values import names
from proreus.server.kinds.parts.cells import age, name_of
from proreus.server.kinds.parts.class_parameters import check_parameters
from proreus.server.kinds.parts.findings import Findings, items, repeats
from proreus.server.kinds.parts.node_labels import deprecated_label
from proreus.server.resource import Cells, Lifecycle, Names, Printer, Resource, Rules


def _default(obj: JsonObject) -> None:
    obj.setdefault("reclaimPolicy", "Delete")
    obj.setdefault("volumeBindingMode", "Immediate")


def _validate(obj: JsonObject) -> list[FieldError]:
    found = Findings()
    provisioner = obj.get("provisioner") or ""
    if provisioner:
        found.name("provisioner", provisioner.lower(), names.qualified_name)
    check_parameters(found, "parameters", obj.get("parameters") or {})
    found.one_of("reclaimPolicy", obj.get("reclaimPolicy") or None, ("Delete", "Retain"))
    found.one_of(
        "volumeBindingMode", obj.get("volumeBindingMode"), ("Immediate", "WaitForFirstConsumer")
    )
    _check_topologies(found, "allowedTopologies", obj.get("allowedTopologies"))
    found.require("provisioner", provisioner)  # declared by the type, so checked last
    return found


def _check_topologies(found: Findings, at: str, terms: list[Json] | None) -> None:
    # Kubernetes compares with as many empty terms as there are terms, so an empty one is refused.
    known: list[dict[str, set[str]]] = [{} for _ in terms or ()]
    for where, term in items(terms, at):
        places: dict[str, set[str]] = {}
        expressions = term.get("matchLabelExpressions")
        for place, expression in items(expressions, f"{where}.matchLabelExpressions"):
            key, values = expression.get("key") or "", expression.get("values") or []
            found.require(f"{place}.values", values)
            for one, value, is_repeated in repeats(values, f"{place}.values"):
                if is_repeated:
                    found.duplicate(one, value)
            found.name(f"{place}.key", key, names.qualified_name)
            if key in places:
                found.duplicate(f"{place}.key", key)
            places[key] = set(values)
        for other in known:
            if other == places:
                found.duplicate(f"{where}.matchLabelExpressions", "")
        known.append(places)


def _validate_update(new: JsonObject, old: JsonObject) -> list[FieldError]:
    found = Findings(_validate(new))
    found.declared_immutable(
        new, old, "provisioner", "parameters", "reclaimPolicy", "volumeBindingMode"
    )
    return found


def _warnings(obj: JsonObject) -> list[str]:
    return [
        f"{place}.key: {why}"
        for where, term in items(obj.get("allowedTopologies"), "allowedTopologies")
        for place, expression in items(
            term.get("matchLabelExpressions"), f"{where}.matchLabelExpressions"
        )
        if (why := deprecated_label(expression.get("key") or ""))
    ]


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
        rules=Rules(
            default=_default,
            validate=_validate,
            validate_update=_validate_update,
            warnings=_warnings,
        ),
        printer=_PRINTER,
    ),
)
