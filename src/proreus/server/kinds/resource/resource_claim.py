"""ResourceClaim: a request for devices."""

from __future__ import annotations

from proreus.api.field_error import FieldError
from proreus.api.json_types import Json, JsonObject
from proreus.server.kinds.parts.cells import age, is_deleting, name_of
from proreus.server.kinds.parts.findings import Findings, immutable_spec
from proreus.server.kinds.parts.resource_claim_status import (
    allocated_devices,
    device_id,
    validate_claim_status,
)
from proreus.server.kinds.parts.resource_claims import check_claim_spec, default_claim_spec
from proreus.server.resource import Cells, Lifecycle, Names, Printer, Resource, Rules


def _default(obj: JsonObject) -> None:
    default_claim_spec(obj["spec"])


def _validate(obj: JsonObject) -> list[FieldError]:
    found = Findings()
    check_claim_spec(found, "spec", obj["spec"])
    return found


def _drop_deallocated(new: JsonObject, old: JsonObject) -> None:
    """What drivers tell of devices goes with their allocation."""
    status = new.get("status") or {}
    gone = {known[:3] for known in allocated_devices(old)}
    gone -= {known[:3] for known in allocated_devices(new)}
    if not gone or not status.get("devices"):
        return
    status["devices"] = [one for one in status["devices"] if device_id(one)[:3] not in gone]
    if not status["devices"]:
        del status["devices"]


def _fill(obj: Json, now: float) -> Cells:
    status = obj.get("status") or {}
    states = ["deleted"] if is_deleting(obj) else []
    if status.get("allocation") is None:
        states += [] if is_deleting(obj) else ["pending"]
    else:
        states.append("allocated")
        states += ["reserved"] if status.get("reservedFor") else []
    return [name_of(obj), ",".join(states), age(obj, now)]


RESOURCES = (
    Resource(
        names=Names.of("resource.k8s.io", "v1", "ResourceClaim", "resourceclaims"),
        namespaced=True,
        has_status=True,
        lifecycle=Lifecycle(status_keeps_metadata=True, returns_deleted=True),
        rules=Rules(
            default=_default,
            prepare_status=_drop_deallocated,
            validate=_validate,
            validate_update=immutable_spec,
            validate_status=validate_claim_status,
        ),
        printer=Printer.of(_fill, "Name", "State", "Age"),
    ),
)
