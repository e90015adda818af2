"""RuntimeClass: which container runtime runs a pod, and its overhead."""

from __future__ import annotations

from proreus.api.field_error import FieldError
from proreus.api.json_types import Json, JsonObject
from proreus.api.values import names
from proreus.server.kinds.parts.cells import age, name_of
from proreus.server.kinds.parts.findings import Findings, repeats
from proreus.server.kinds.parts.node_labels import deprecated_label
from proreus.server.kinds.parts.pod_template.scheduling import (
    check_tolerations,
    internal_toleration,
)
from proreus.server.kinds.parts.resources import check_overhead
from proreus.server.resource import Cells, Lifecycle, Names, Printer, Resource, Rules

_TOLERATIONS = "scheduling.tolerations"
_TOLERATION_KEY = ("key", "operator", "value", "effect")


def _validate(obj: JsonObject) -> list[FieldError]:
    found = _found_by_functions(obj)
    # What the type declares is checked after all that functions check.
    found.required_name("handler", obj.get("handler"), names.dns_label)
    return found


def _found_by_functions(obj: Json) -> Findings:
    found = Findings()
    if (overhead := obj.get("overhead")) is not None:
        check_overhead(found, "overhead", overhead.get("podFixed"))
    if (scheduling := obj.get("scheduling")) is not None:
        found.labels("scheduling.nodeSelector", scheduling.get("nodeSelector"))
        check_tolerations(found, _TOLERATIONS, scheduling.get("tolerations"))
        _check_unique(found, scheduling.get("tolerations") or [])
    return found


def _check_unique(found: Findings, tolerations: list[Json]) -> None:
    """Two that differ in their seconds alone are one."""
    keys = [tuple(one.get(field) or "" for field in _TOLERATION_KEY) for one in tolerations]
    for (where, _, is_repeated), one in zip(repeats(keys, _TOLERATIONS), tolerations, strict=True):
        if is_repeated:
            found.duplicate(where, internal_toleration(one))


def _validate_update(new: JsonObject, old: JsonObject) -> list[FieldError]:
    found = _found_by_functions(new)
    found.declared_immutable(new, old, "handler")
    return found


def _warnings(obj: JsonObject) -> list[str]:
    selector = (obj.get("scheduling") or {}).get("nodeSelector") or ()
    return [
        f"scheduling.nodeSelector: {why}"
        for key in sorted(selector)
        if (why := deprecated_label(key))
    ]


def _fill(obj: Json, now: float) -> Cells:
    return [name_of(obj), obj.get("handler", ""), age(obj, now)]


RESOURCES = (
    Resource(
        names=Names.of("node.k8s.io", "v1", "RuntimeClass", "runtimeclasses"),
        namespaced=False,
        lifecycle=Lifecycle(unconditional_update=False, create_on_update=True),
        rules=Rules(validate=_validate, validate_update=_validate_update, warnings=_warnings),
        printer=Printer.of(_fill, "Name", "Handler", "Age"),
    ),
)
