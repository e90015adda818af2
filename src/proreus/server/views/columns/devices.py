"""Devices that pods claim."""

from __future__ import annotations

from proreus.server.views.columns.cells import Object, age, is_deleting, name_of
from proreus.server.views.columns.printer import Cells, Printer, columns


def _fill_named(obj: Object, now: float) -> Cells:
    return [name_of(obj), age(obj, now)]


def _fill_claim(obj: Object, now: float) -> Cells:
    status = obj.get("status") or {}
    states = ["deleted"] if is_deleting(obj) else []
    if status.get("allocation") is None:
        states += [] if is_deleting(obj) else ["pending"]
    else:
        states.append("allocated")
        states += ["reserved"] if status.get("reservedFor") else []
    return [name_of(obj), ",".join(states), age(obj, now)]


def _fill_slice(obj: Object, now: float) -> Cells:
    spec = obj.get("spec") or {}
    return [
        name_of(obj),
        spec.get("nodeName") or "<unset>",
        spec.get("driver", ""),
        (spec.get("pool") or {}).get("name", ""),
        age(obj, now),
    ]


_GROUP = "resource.k8s.io"
_NAMED = Printer(columns("Name", "Age"), _fill_named)

PRINTERS: dict[tuple[str, str], Printer] = {
    (_GROUP, "DeviceClass"): _NAMED,
    (_GROUP, "ResourceClaimTemplate"): _NAMED,
    (_GROUP, "ResourceClaim"): Printer(columns("Name", "State", "Age"), _fill_claim),
    (_GROUP, "ResourceSlice"): Printer(
        columns("Name", "Node", "Driver", "Pool", "Age"), _fill_slice
    ),
}
