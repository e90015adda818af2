"""ResourceSlice: some of the devices of a driver."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from proreus.api.field_error import FieldError
from proreus.api.go_text import quoted
from proreus.api.json_types import Json, JsonObject
from proreus.api.values.timestamp import format_time
from proreus.server.kinds.parts.cells import age, name_of
from proreus.server.kinds.parts.devices import check_counter_sets, check_device
from proreus.server.kinds.parts.findings import Findings, items, repeats
from proreus.server.kinds.parts.label_selectors import check_node_selector
from proreus.server.kinds.parts.pod_template.scheduling import internal_term
from proreus.server.kinds.parts.pod_template.volumes import check_driver
from proreus.server.kinds.parts.resource_claims import check_pool_name
from proreus.server.resource import Generation, Lifecycle, Names, Resource, Rules, at_paths
from proreus.server.resource.printer import Cells, Printer

_DEVICES_MAX, _SPECIAL_DEVICES_MAX = 128, 64
_PLACES = ("nodeName", "nodeSelector", "allNodes", "perDeviceNodeSelection")
_ONE_PLACE = f"exactly one of {', '.join(f'`{place}`' for place in _PLACES)} is required"


def _prepare(obj: JsonObject) -> None:
    """A device's taint begins with the slice, unless that says otherwise."""
    created = obj["metadata"].get("creationTimestamp") or format_time(0)
    for taint in _taints(obj):
        taint.setdefault("timeAdded", created)


def _date_update(new: JsonObject, _: JsonObject, now: float) -> None:
    """It is a default: who leaves it out begins the taint anew."""
    for taint in _taints(new):
        taint.setdefault("timeAdded", format_time(now))


def _taints(obj: JsonObject) -> Iterator[JsonObject]:
    for device in (obj.get("spec") or {}).get("devices") or ():
        yield from device.get("taints") or ()


def _warnings(obj: JsonObject) -> list[str]:
    driver = (obj.get("spec") or {}).get("driver") or ""
    if driver == driver.lower():
        return []
    why = f"driver names should be lowercase; {quoted(driver)} contains uppercase characters"
    return [f"spec.driver: {why}"]


def _validate(obj: JsonObject) -> list[FieldError]:
    found, spec = Findings(), obj.get("spec") or {}
    _check_pool(found, spec)
    _check_content(found, spec, {})
    return found


def _validate_update(new: JsonObject, old: JsonObject) -> list[FieldError]:
    found = Findings()
    spec, before = new.get("spec") or {}, old.get("spec") or {}
    _check_pool(found, spec)
    pool, had = spec.get("pool") or {}, before.get("pool") or {}
    found.immutable("spec.pool.name", pool.get("name"), had.get("name"))
    found.unchanged(spec, before, "driver", "nodeName", at="spec.")
    _check_content(found, spec, before)
    return found


def _check_pool(found: Findings, spec: Json) -> None:
    check_driver(found, "spec.driver", spec.get("driver") or "")
    pool, at = spec.get("pool") or {}, "spec.pool"
    check_pool_name(found, f"{at}.name", pool.get("name") or "")
    count, generation = pool.get("resourceSliceCount") or 0, pool.get("generation") or 0
    if count <= 0:
        found.invalid(f"{at}.resourceSliceCount", count, "must be greater than zero")
    if generation < 0:
        why = "must be greater than or equal to zero"
        found.invalid(f"{at}.generation", generation, why)


def _check_content(found: Findings, spec: Json, before: Json) -> None:
    _check_place(found, spec)
    if spec.get("sharedCounters") is not None and spec.get("devices") is not None:
        found.invalid("spec", "", "only one of `sharedCounters` or `devices` is allowed")
    declared = Findings()
    _check_devices(found, declared, spec, before)
    counters = spec.get("sharedCounters") or []
    check_counter_sets(found, declared, "spec.sharedCounters", counters)
    found += declared


def _check_devices(found: Findings, declared: Findings, spec: Json, before: Json) -> None:
    devices = spec.get("devices") or []
    is_special = any(d.get("taints") or d.get("consumesCounters") for d in devices)
    limit = _SPECIAL_DEVICES_MAX if is_special else _DEVICES_MAX
    if len(devices) > limit:
        found.at_most("spec.devices", devices, limit)
        return
    old = {device.get("name"): device for device in reversed(before.get("devices") or [])}
    has_place = bool(spec.get("perDeviceNodeSelection"))
    for where, device in items(devices, "spec.devices"):
        known = old.get(device.get("name"))
        taints = known is None or (known.get("taints") or []) != (device.get("taints") or [])
        check_device(found, declared, where, device, has_place=has_place, taints=taints)
    given = [device.get("name") or "" for device in devices]
    for where, name, is_repeated in repeats(given, "spec.devices"):
        if is_repeated:
            found.duplicate(where, name)


def _check_place(found: Findings, spec: Json) -> None:
    """Exactly one field says which nodes have the devices."""
    given = [f"`{place}`" for place in _PLACES if spec.get(place)]
    name = spec.get("nodeName")
    if name == "":
        why = "must be either unset or set to a non-empty string"
        found.invalid("spec.nodeName", name, why)
    else:
        found.name("spec.nodeName", name)
    if (selector := spec.get("nodeSelector")) is not None:
        check_node_selector(found, "spec.nodeSelector", selector)
        if len(terms := selector.get("nodeSelectorTerms") or []) != 1:
            printed = [internal_term(term) for term in terms]
            why = "must have exactly one node selector term"
            found.invalid("spec.nodeSelector.nodeSelectorTerms", printed, why)
    for key in ("allNodes", "perDeviceNodeSelection"):
        if spec.get(key) is False:
            found.invalid(f"spec.{key}", False, "must be either unset or set to true")
    if not given:
        found.require("spec", None, _ONE_PLACE)
    elif len(given) > 1:
        why = f"{_ONE_PLACE}, but multiple fields are set"
        found.invalid("spec", "{" + ", ".join(given) + "}", why)


def _fill(obj: Json, now: float) -> Cells:
    spec = obj.get("spec") or {}
    return [
        name_of(obj),
        spec.get("nodeName") or "<unset>",
        spec.get("driver", ""),
        (spec.get("pool") or {}).get("name", ""),
        age(obj, now),
    ]


_FIELDS = replace(
    at_paths("spec.driver", "spec.nodeName", exact_index="spec.nodeName"),
    unknown_field="field label not supported for resource.k8s.io/v1, Kind=ResourceSlice: {}",
)

RESOURCES = (
    Resource(
        names=Names.of("resource.k8s.io", "v1", "ResourceSlice", "resourceslices"),
        namespaced=False,
        lifecycle=Lifecycle(generation=Generation(), returns_deleted=True),
        selectable=_FIELDS,
        rules=Rules(
            prepare_create=_prepare,
            date_update=_date_update,
            validate=_validate,
            validate_update=_validate_update,
            warnings=_warnings,
        ),
        printer=Printer.of(_fill, "Name", "Node", "Driver", "Pool", "Age"),
    ),
)
