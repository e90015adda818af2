"""CSINode: the storage drivers of a node."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from proreus.api.field_error import FieldError
from proreus.api.json_types import Json, JsonObject
from proreus.api.values import names
from proreus.server.kinds.parts.cells import age, name_of
from proreus.server.kinds.parts.findings import Findings, items
from proreus.server.kinds.parts.pod_template.volumes import check_driver
from proreus.server.resource import Cells, Lifecycle, Names, Printer, Resource, Rules

_NODE_ID_MAX = 256


def _validate(obj: JsonObject) -> list[FieldError]:
    found = Findings()
    seen: set[str] = set()
    for where, driver in items(obj["spec"].get("drivers"), "spec.drivers"):
        name, node_id = driver.get("name") or "", driver.get("nodeID") or ""
        check_driver(found, f"{where}.name", name)
        found.require(f"{where}.nodeID", node_id)
        if len(node_id) > _NODE_ID_MAX:
            found.invalid(f"{where}.nodeID", node_id, f"must be {_NODE_ID_MAX} characters or less")
        found.not_negative(
            f"{where}.allocatable.count", (driver.get("allocatable") or {}).get("count")
        )
        if name in seen:
            found.duplicate(f"{where}.name", name)
        seen.add(name)
        _check_topology_keys(found, where, driver.get("topologyKeys") or [])
    return found


def _check_topology_keys(found: Findings, at: str, keys: list[str]) -> None:
    seen: set[str] = set()
    for key in keys:
        found.require(at, key)
        if key in seen:
            found.duplicate(at, key)
        seen.add(key)
        found.name(at, key, names.qualified_name)


def _validate_update(new: JsonObject, old: JsonObject) -> list[FieldError]:
    """A driver that stays may change nothing but how many volumes it can attach."""
    found = Findings(_validate(new))
    now = {driver.get("name"): driver for driver in new["spec"].get("drivers") or ()}
    for driver in old["spec"].get("drivers") or ():
        if driver.get("name") in now:
            after = _rendered_driver(now[driver.get("name")])
            found.immutable("spec.drivers", after, _rendered_driver(driver))
    return found


def _rendered_driver(driver: Mapping[str, Any]) -> dict[str, Any]:
    """As Go prints the type it validates, without its mutable fields."""
    return {
        "Name": driver.get("name") or "",
        "NodeID": driver.get("nodeID") or "",
        "TopologyKeys": driver.get("topologyKeys"),
        "Allocatable": None,
    }


def _fill(obj: Json, now: float) -> Cells:
    return [name_of(obj), len((obj.get("spec") or {}).get("drivers") or ()), age(obj, now)]


RESOURCES = (
    Resource(
        names=Names.of("storage.k8s.io", "v1", "CSINode", "csinodes"),
        namespaced=False,
        has_status=True,
        lifecycle=Lifecycle(unconditional_update=False, returns_deleted=True),
        rules=Rules(validate=_validate, validate_update=_validate_update),
        printer=Printer.of(_fill, "Name", "Drivers:integer", "Age"),
    ),
)
