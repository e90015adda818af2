"""CSIStorageCapacity: how much storage a driver has left for a part of the cluster."""

from __future__ import annotations

from proreus.api.field_error import FieldError
from proreus.api.json_types import JsonObject
from proreus.api.values import quantity
from proreus.server.kinds.parts.findings import NOT_NEGATIVE, Findings
from proreus.server.kinds.parts.label_selectors import check_selector
from proreus.server.kinds.parts.node_labels import node_selector_warnings
from proreus.server.resource import Lifecycle, Names, Resource, Rules


def _validate(obj: JsonObject) -> list[FieldError]:
    found = Findings()
    check_selector(found, "nodeTopology", obj.get("nodeTopology"))
    found.name("storageClassName", obj.get("storageClassName") or "")
    if (capacity := obj.get("capacity")) is not None and quantity.amount(capacity) < 0:
        found.invalid("capacity", capacity, NOT_NEGATIVE)
    return found


RESOURCES = (
    Resource(
        names=Names.of("storage.k8s.io", "v1", "CSIStorageCapacity", "csistoragecapacities"),
        namespaced=True,
        lifecycle=Lifecycle(unconditional_update=False),
        rules=Rules(
            validate=_validate,
            immutable=("nodeTopology", "storageClassName"),
            warnings=lambda obj: node_selector_warnings(obj.get("nodeTopology"), "nodeTopology"),
        ),
    ),
)
