"""The status of a load balancer, as services and ingresses report it."""

from __future__ import annotations

from proreus.api.field_error import FieldError
from proreus.api.json_types import Json, JsonObject
from proreus.api.values import names
from proreus.server.kinds.parts.findings import Findings, items

ONLY_LOAD_BALANCERS = "may only be used when `type` is 'LoadBalancer'"


def ingress_points(obj: Json) -> list[JsonObject]:
    return ((obj.get("status") or {}).get("loadBalancer") or {}).get("ingress") or []


def validate_load_balancer_status(new: JsonObject, _: JsonObject) -> list[FieldError]:
    found, at, points = Findings(), "status.loadBalancer.ingress", ingress_points(new)
    if points and new["spec"].get("type", "LoadBalancer") != "LoadBalancer":
        found.forbid(at, "may only be used when `spec.type` is 'LoadBalancer'")
        return found
    for where, entry in items(points, at):
        if entry.get("ip"):
            found.name(f"{where}.ip", entry["ip"], names.ip_address)
        mode = entry.get("ipMode")
        if mode is not None and not entry.get("ip"):
            found.forbid(f"{where}.ipMode", "may not be specified when `ip` is not set")
        else:
            found.one_of(f"{where}.ipMode", mode, ("Proxy", "VIP"))
        if hostname := entry.get("hostname"):
            found.name(f"{where}.hostname", hostname)
            if names.parse_ip(hostname):
                why = "must be a DNS name, not an IP address"
                found.invalid(f"{where}.hostname", hostname, why)
    return found


def balancer_addresses(obj: Json) -> list[str]:
    """The addresses a load balancer reports, each once, sorted."""
    points = ingress_points(obj)
    return sorted({entry.get("ip") or entry.get("hostname") or "" for entry in points} - {""})
