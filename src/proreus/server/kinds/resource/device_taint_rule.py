"""DeviceTaintRule: adds a taint to the devices it selects."""

from __future__ import annotations

from proreus.api.field_error import FieldError
from proreus.api.json_types import Json, JsonObject
from proreus.api.values import names
from proreus.api.values.timestamp import format_time
from proreus.server.kinds.parts.cells import age, name_of, since
from proreus.server.kinds.parts.devices import check_taint
from proreus.server.kinds.parts.findings import Findings
from proreus.server.kinds.parts.pod_template.volumes import check_driver
from proreus.server.kinds.parts.resource_claims import check_pool_name
from proreus.server.resource import Cells, Generation, Lifecycle, Names, Printer, Resource, Rules


def _prepare(obj: JsonObject) -> None:
    """The taint begins with the rule, unless that says otherwise."""
    created = obj["metadata"].get("creationTimestamp") or format_time(0)
    obj["spec"].setdefault("taint", {}).setdefault("timeAdded", created)


def _prepare_update(new: JsonObject, old: JsonObject) -> None:
    before = (old["spec"].get("taint") or {}).get("timeAdded")
    if before and (taint := new["spec"].get("taint")):
        taint.setdefault("timeAdded", before)


def _validate(obj: JsonObject) -> list[FieldError]:
    found, spec = Findings(), obj["spec"]
    selector, at = spec.get("deviceSelector") or {}, "spec.deviceSelector"
    if (driver := selector.get("driver")) is not None:
        check_driver(found, f"{at}.driver", driver)
    if (pool := selector.get("pool")) is not None:
        check_pool_name(found, f"{at}.pool", pool)
    found.name(f"{at}.device", selector.get("device"), names.dns_label)
    declared = Findings()
    check_taint(found, declared, "spec.taint", spec.get("taint") or {})
    return [*found, *declared]


def _fill(obj: Json, now: float) -> Cells:
    taint = (obj.get("spec") or {}).get("taint") or {}
    added = taint.get("timeAdded")
    return [
        name_of(obj),
        *(taint.get(key) or "" for key in ("key", "value", "effect")),
        since(added, now) if added else "",
        age(obj, now),
    ]


RESOURCES = (
    Resource(
        names=Names.of("resource.k8s.io", "v1", "DeviceTaintRule", "devicetaintrules"),
        namespaced=False,
        has_status=True,
        lifecycle=Lifecycle(
            generation=Generation(), status_keeps_metadata=True, returns_deleted=True
        ),
        rules=Rules(prepare_create=_prepare, prepare_update=_prepare_update, validate=_validate),
        printer=Printer.of(_fill, "Name", "Key", "Value", "Effect", "TimeAdded", "Age"),
    ),
)
