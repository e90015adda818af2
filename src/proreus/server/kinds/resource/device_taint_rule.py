"""DeviceTaintRule: adds a taint to the devices it selects."""

from __future__ import annotations

from proreus.api.field_error import FieldError
from proreus.api.json_types import Json, JsonObject
from proreus.api.values import names
from proreus.api.values.timestamp import format_time
from proreus.server.kinds.parts.cells import age, name_of, since
from proreus.server.kinds.parts.conditions import check_conditions
from proreus.server.kinds.parts.devices import check_taint
from proreus.server.kinds.parts.findings import Findings
from proreus.server.kinds.parts.pod_template.volumes import check_driver
from proreus.server.kinds.parts.resource_claims import check_pool_name
from proreus.server.resource import Cells, Generation, Lifecycle, Names, Printer, Resource, Rules

_CONDITIONS_MAX = 8


def _prepare(obj: JsonObject) -> None:
    """The taint begins with the rule, unless that says otherwise."""
    created = obj["metadata"].get("creationTimestamp") or format_time(0)
    obj["spec"].setdefault("taint", {}).setdefault("timeAdded", created)


def _date_update(new: JsonObject, old: JsonObject, now: float) -> None:
    """The time is that of the effect: another one begins now, unless the client dates it anew."""
    taint, before = new["spec"].setdefault("taint", {}), old["spec"].get("taint") or {}
    taint.setdefault("timeAdded", format_time(now))
    is_other = (taint.get("effect") or "") != (before.get("effect") or "")
    if is_other and taint["timeAdded"] == before.get("timeAdded"):
        taint["timeAdded"] = format_time(now)


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


def _validate_status(new: JsonObject, _: JsonObject) -> list[FieldError]:
    found, conditions = Findings(), (new.get("status") or {}).get("conditions")
    found.at_most("status.conditions", conditions, _CONDITIONS_MAX)
    check_conditions(found, "status.conditions", conditions)
    return found


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
            generation=Generation(),
            unconditional_update=False,
            status_keeps_metadata=True,
            returns_deleted=True,
        ),
        rules=Rules(
            prepare_create=_prepare,
            date_update=_date_update,
            validate=_validate,
            validate_status=_validate_status,
        ),
        printer=Printer.of(_fill, "Name", "Key", "Value", "Effect", "TimeAdded", "Age"),
    ),
)
