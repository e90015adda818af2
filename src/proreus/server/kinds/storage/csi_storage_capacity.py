"""CSIStorageCapacity: how much storage a driver has left for a part of the cluster."""

from __future__ import annotations

from proreus.api.field_error import FieldError
from proreus.api.json_types import Json, JsonObject
from proreus.api.values import quantity
from proreus.server.kinds.parts.cells import UNSET, name_of
from proreus.server.kinds.parts.findings import NOT_NEGATIVE, Findings
from proreus.server.kinds.parts.label_selectors import check_selector
from proreus.server.resource import Cells, Lifecycle, Names, Printer, Resource, Rules


def _validate(obj: JsonObject) -> list[FieldError]:
    found = Findings()
    check_selector(found, "nodeTopology", obj.get("nodeTopology"))
    found.name("storageClassName", obj.get("storageClassName") or "")
    if (capacity := obj.get("capacity")) is not None and quantity.amount(capacity) < 0:
        found.invalid("capacity", capacity, NOT_NEGATIVE)
    return found


def _fill(obj: Json, _: float) -> Cells:
    capacity = obj.get("capacity")
    text = UNSET if capacity is None else str(capacity)
    return [name_of(obj), obj.get("storageClassName", ""), text]


RESOURCES = (
    Resource(
        names=Names.of("storage.k8s.io", "v1", "CSIStorageCapacity", "csistoragecapacities"),
        namespaced=True,
        lifecycle=Lifecycle(unconditional_update=False),
        rules=Rules(validate=_validate, immutable=("nodeTopology", "storageClassName")),
        printer=Printer.of(_fill, "Name", "StorageClassName", "Capacity"),
    ),
)
