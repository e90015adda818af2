"""StorageVersionMigration: rewrites the objects of a resource in their storage version."""

from __future__ import annotations

import re

from proreus.api.field_error import FieldError
from proreus.api.json_types import Json, JsonObject
from proreus.api.values import names
from proreus.server.kinds.parts.cells import holds, name_of
from proreus.server.kinds.parts.conditions import check_conditions, is_true
from proreus.server.kinds.parts.findings import IMMUTABLE, Findings
from proreus.server.resource import Cells, Lifecycle, Names, Printer, Resource, Rules

_RESOURCE_VERSION = re.compile(r"[1-9][0-9]*")


def _validate(obj: JsonObject) -> list[FieldError]:
    found = Findings()
    resource = (obj.get("spec") or {}).get("resource") or {}
    name, group = resource.get("resource") or "", resource.get("group") or ""
    if found.require("spec.resource.resource", name, "resource is required to be set"):
        _joined(found, "spec.resource.resource", name, names.dns_1035_label(name))
    if group:
        _joined(found, "spec.resource.group", group, names.dns_subdomain(group))
    return found


def _joined(found: Findings, at: str, value: str, reasons: list[str]) -> None:
    if reasons:
        found.invalid(at, value, ",".join(reasons))


def _validate_status(new: JsonObject, old: JsonObject) -> list[FieldError]:
    found, status, before = Findings(), new.get("status") or {}, old.get("status") or {}
    version, known = status.get("resourceVersion") or "", before.get("resourceVersion") or ""
    if not _RESOURCE_VERSION.fullmatch(version):
        why = f"resource version is not well formed: {version}"
        found.invalid("status.resourceVersion", version, why)
    conditions, previous = status.get("conditions"), before.get("conditions")
    check_conditions(found, "status.conditions", conditions)
    if known and known != version:
        found.invalid("status.resourceVersion", version, IMMUTABLE)
    for why in _contradictions(conditions, previous):
        found.invalid("status.conditions", conditions, why)
    return found


def _contradictions(
    conditions: list[JsonObject] | None, previous: list[JsonObject] | None
) -> list[str]:
    """A migration ends once, in success or in failure, and does not run after that."""
    succeeded, failed = is_true(conditions, "Succeeded"), is_true(conditions, "Failed")
    running = is_true(conditions, "Running")
    found: list[str] = []
    if succeeded and failed:
        found.append("Both success and failed conditions cannot be true at the same time")
    if succeeded and running:
        found.append("Running condition cannot be true when success condition is true")
    if failed and running:
        found.append("Running condition cannot be true when failed condition is true")
    if is_true(previous, "Succeeded") and not succeeded:
        found.append("Success condition cannot be set to false once it is true")
    if is_true(previous, "Failed") and not failed:
        found.append("Failed condition cannot be set to false once it is true")
    return found


_STATES = ("Running", "Failed", "Succeeded")


def _fill(obj: Json, _: float) -> Cells:
    resource = (obj.get("spec") or {}).get("resource") or {}
    group, plural = resource.get("group"), resource.get("resource", "")
    states = [kind for kind in _STATES if holds(obj, kind)]
    return [name_of(obj), f"{plural}.{group}" if group else plural, (states or ["Unknown"])[-1]]


RESOURCES = (
    Resource(
        names=Names.of(
            "storagemigration.k8s.io", "v1", "StorageVersionMigration", "storageversionmigrations"
        ),
        namespaced=False,
        has_status=True,
        lifecycle=Lifecycle(status_keeps_metadata=True, unconditional_update=False),
        rules=Rules(validate=_validate, immutable=("spec",), validate_status=_validate_status),
        printer=Printer.of(_fill, "Name:string:", "Resource", "Status"),
    ),
)
