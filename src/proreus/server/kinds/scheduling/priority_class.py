"""PriorityClass: the priority and preemption policy of pods that name it."""

from __future__ import annotations

from proreus.api.field_error import FieldError
from proreus.api.json_types import Json, JsonObject
from proreus.server.kinds.parts.cells import age, name_of, number
from proreus.server.kinds.parts.findings import Findings
from proreus.server.kinds.parts.pod_template.scheduling import SYSTEM_PRIORITIES
from proreus.server.resource import Generation, Lifecycle, Names, Resource, Rules
from proreus.server.resource.printer import Cells, Printer

_SYSTEM_PREFIX = "system-"
_USER_PRIORITY_MAX = 1_000_000_000


def _default(obj: JsonObject) -> None:
    obj.setdefault("preemptionPolicy", "PreemptLowerPriority")


def _validate(obj: JsonObject) -> list[FieldError]:
    found = Findings()
    name, value = obj["metadata"].get("name") or "", obj.get("value") or 0
    if name.startswith(_SYSTEM_PREFIX):
        if SYSTEM_PRIORITIES.get(name) != value:
            found.forbid(
                "metadata.name",
                "priority class names with '" + _SYSTEM_PREFIX + "' prefix are reserved for "
                "system use only. error: "
                + (
                    f"value of {name} PriorityClass must be {SYSTEM_PRIORITIES[name]}"
                    if name in SYSTEM_PRIORITIES
                    else f"{name} is not a known system priority class"
                ),
            )
    elif value > _USER_PRIORITY_MAX:
        found.forbid(
            "value", f"maximum allowed value of a user defined priority is {_USER_PRIORITY_MAX}"
        )
    policy = obj.get("preemptionPolicy")
    found.required_one_of("preemptionPolicy", policy, ("PreemptLowerPriority", "Never"))
    return found


def _validate_update(new: JsonObject, old: JsonObject) -> list[FieldError]:
    found = Findings()
    if (new.get("value") or 0) != (old.get("value") or 0):
        found.forbid("value", "may not be changed in an update.")
    found.unchanged(new, old, "preemptionPolicy")
    return found


def _fill(obj: Json, now: float) -> Cells:
    return [
        name_of(obj),
        number(obj.get("value")),
        bool(obj.get("globalDefault")),
        age(obj, now),
        obj.get("preemptionPolicy") or "",
    ]


RESOURCES = (
    Resource(
        names=Names.of("scheduling.k8s.io", "v1", "PriorityClass", "priorityclasses", "pc"),
        namespaced=False,
        lifecycle=Lifecycle(generation=Generation(grows=False)),
        rules=Rules(default=_default, validate=_validate, validate_update=_validate_update),
        printer=Printer.of(
            _fill, "Name", "Value:integer", "Global-Default:boolean", "Age", "PreemptionPolicy"
        ),
    ),
)
