"""Columns that workloads share."""

from __future__ import annotations

from proreus.api.json_types import Json
from proreus.server.kinds.parts.cells import age, name_of, number
from proreus.server.resource import Cells

WIDE = ("Containers*", "Images*", "Selector*")
REPLICA_COLUMNS = ("Name", "Desired:integer", "Current:integer", "Ready:integer", "Age", *WIDE)


def wanted_replicas(obj: Json) -> int:
    wanted = (obj.get("spec") or {}).get("replicas")
    return 1 if wanted is None and obj.get("spec") else number(wanted)


def replica_cells(obj: Json, now: float) -> Cells:
    status = obj.get("status") or {}
    return [
        name_of(obj),
        wanted_replicas(obj),
        number(status.get("replicas")),
        number(status.get("readyReplicas")),
        age(obj, now),
        *template_cells(obj),
    ]


def container_cells(pod_spec: Json) -> list[str]:
    """Names and images of the containers of a pod spec."""
    containers = pod_spec.get("containers") or ()
    names = ",".join(str(container.get("name", "")) for container in containers)
    return [names, ",".join(str(container.get("image", "")) for container in containers)]


def template_spec(obj: Json) -> Json:
    """``spec.template.spec`` of a workload."""
    template = (obj.get("spec") or {}).get("template") or {}
    found: Json = template.get("spec") or {}
    return found


def template_cells(obj: Json) -> list[str]:
    """Names and images of the containers that a workload makes."""
    return container_cells(template_spec(obj))
