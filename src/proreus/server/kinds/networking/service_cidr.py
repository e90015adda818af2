"""ServiceCIDR: a range that addresses of services come from."""

from __future__ import annotations

from proreus.api.field_error import FieldError
from proreus.api.json_types import Json, JsonObject
from proreus.api.values import names
from proreus.server.kinds.parts.cells import age, name_of
from proreus.server.kinds.parts.findings import IMMUTABLE, Findings, items
from proreus.server.resource import Cells, Names, Printer, Resource, Rules

_TWO_FAMILIES = (
    "may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64"
)


def _validate(obj: JsonObject) -> list[FieldError]:
    found, at = Findings(), "spec.cidrs"
    ranges = obj["spec"].get("cidrs") or []
    if not found.require(at, ranges, "at least one CIDR required"):
        return found
    if len(ranges) > 2:
        found.invalid(at, {"CIDRs": ranges}, "may only hold up to 2 values")
    elif len(ranges) == 2 and (
        any(names.parse_cidr(text) is None for text in ranges)
        or len({":" in text for text in ranges}) == 1
    ):
        found.invalid(at, ranges, _TWO_FAMILIES)
    else:
        for where, text in items(ranges, at):
            found.name(where, text, names.canonical_cidr)
    return found


def _validate_update(new: JsonObject, old: JsonObject) -> list[FieldError]:
    """A second family may be added, nothing else changes."""
    found, at = Findings(), "spec.cidrs"
    ranges, before = new["spec"].get("cidrs") or [], old["spec"].get("cidrs") or []
    if len(ranges) == len(before) or (len(before), len(ranges)) == (1, 2):
        for index, text in enumerate(before):
            if ranges[index] != text:
                found.invalid(f"{at}[{index}]", ranges[index], IMMUTABLE)
    else:
        found.invalid(at, ranges, IMMUTABLE)
    return found


def _fill(obj: Json, now: float) -> Cells:
    ranges = (obj.get("spec") or {}).get("cidrs") or ()
    return [name_of(obj), ",".join(ranges), age(obj, now)]


RESOURCES = (
    Resource(
        names=Names.of("networking.k8s.io", "v1", "ServiceCIDR", "servicecidrs"),
        namespaced=False,
        has_status=True,
        rules=Rules(validate=_validate, validate_update=_validate_update),
        printer=Printer.of(_fill, "Name", "CIDRs", "Age"),
    ),
)
