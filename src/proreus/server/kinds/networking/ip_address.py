"""IPAddress: an address that is taken."""

from __future__ import annotations

from proreus.api.field_error import FieldError
from proreus.api.group_version import GroupResource
from proreus.api.json_types import Json, JsonObject
from proreus.api.values import names
from proreus.server.kinds.parts.cells import NONE, name_of
from proreus.server.kinds.parts.findings import Findings
from proreus.server.resource import Cells, Names, Printer, Resource, Rules


def _validate(obj: JsonObject) -> list[FieldError]:
    found = Findings()
    found.name("metadata.name", obj["metadata"].get("name") or "", names.canonical_ip_address)
    reference = obj["spec"].get("parentRef")
    if reference is None:
        found.require("spec.parentRef", None)
        return found
    at = "spec.parentRef"
    if reference.get("group"):
        found.name(f"{at}.group", reference["group"])
    for key in ("resource", "name", "namespace"):
        if reference.get(key):
            found.name(f"{at}.{key}", reference[key], names.path_segment)
    # What the types declare is checked after all that functions check.
    found.require(f"{at}.resource", reference.get("resource"))
    found.require(f"{at}.name", reference.get("name"))
    return found


def _validate_update(new: JsonObject, old: JsonObject) -> list[FieldError]:
    found = Findings()
    found.declared_immutable(new["spec"], old["spec"], "parentRef", at="spec.")
    return found


def _fill(obj: Json, _: float) -> Cells:
    parent = (obj.get("spec") or {}).get("parentRef")
    text = NONE
    if parent:
        resource = GroupResource(parent.get("group") or "", parent.get("resource") or "")
        where = f"{parent['namespace']}/" if parent.get("namespace") else ""
        text = f"{resource}/{where}{parent.get('name', '')}"
    return [name_of(obj), text]


RESOURCES = (
    Resource(
        names=Names.of("networking.k8s.io", "v1", "IPAddress", "ipaddresses", "ip"),
        namespaced=False,
        name_rule=names.path_segment,
        rules=Rules(validate=_validate, validate_update=_validate_update),
        printer=Printer.of(_fill, "Name", "ParentRef"),
    ),
)
