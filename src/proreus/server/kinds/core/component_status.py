"""ComponentStatus: the health of other parts of the control plane; computed, never stored."""

from __future__ import annotations

from proreus.api.json_types import Json
from proreus.server.kinds.parts.cells import name_of
from proreus.server.resource import Cells, Names, Printer, Resource, Unstored


def _fill(obj: Json, _: float) -> Cells:
    for found in obj.get("conditions") or ():
        if found.get("type") == "Healthy":
            text = "Healthy" if found.get("status") == "True" else "Unhealthy"
            return [name_of(obj), text, found.get("message", ""), found.get("error", "")]
    return [name_of(obj), "Unknown", "", ""]


RESOURCES = (
    Resource(
        names=Names.of("", "v1", "ComponentStatus", "componentstatuses", "cs"),
        namespaced=False,
        verbs=("get", "list"),
        unstored=Unstored.COMPONENT_STATUS,
        printer=Printer.of(_fill, "Name", "Status", "Message", "Error"),
        deprecation_warning="v1 ComponentStatus is deprecated in v1.19+",
    ),
)
