"""Which devices a resource claim asks for."""

from __future__ import annotations

from proreus.api.json_types import Json, JsonObject
from proreus.api.values import names
from proreus.server.kinds.parts.expressions import check_device_selectors
from proreus.server.kinds.parts.findings import Findings, items


def default_claim_spec(spec: JsonObject) -> None:
    for request in (spec.get("devices") or {}).get("requests") or ():
        parts = [request.get("exactly"), *(request.get("firstAvailable") or ())]
        for part in parts:
            if part is None:
                continue
            if not part.get("allocationMode"):
                part["allocationMode"] = "ExactCount"
            if part["allocationMode"] == "ExactCount":
                part.setdefault("count", 1)


def check_claim_spec(found: Findings, at: str, spec: Json) -> None:
    requests = (spec.get("devices") or {}).get("requests")
    for where, request in items(requests, f"{at}.devices.requests"):
        if found.require(f"{where}.name", request.get("name")):
            found.name(f"{where}.name", request["name"], names.dns_label)
        exactly, several = request.get("exactly"), request.get("firstAvailable")
        if (exactly is None) == (not several):
            found.require(where, None, "exactly one of `exactly` or `firstAvailable` is required")
        elif exactly is not None:
            _check_exactly(found, f"{where}.exactly", exactly)
        else:
            for place, one in items(several, f"{where}.firstAvailable"):
                check_device_selectors(found, f"{place}.selectors", one.get("selectors"))


def _check_exactly(found: Findings, at: str, request: Json) -> None:
    if found.require(f"{at}.deviceClassName", request.get("deviceClassName")):
        found.name(f"{at}.deviceClassName", request["deviceClassName"])
    check_device_selectors(found, f"{at}.selectors", request.get("selectors"))
    count = request.get("count")
    if request.get("allocationMode") == "ExactCount" and count is not None and count <= 0:
        found.invalid(f"{at}.count", count, "must be greater than zero")
    found.one_of(f"{at}.allocationMode", request.get("allocationMode"), ("All", "ExactCount"))
