"""Services: defaults, what follows a change of type, and what stays when a client leaves it out.

Addresses and node ports are not chosen here: ``allocation`` does that against storage, between
these rules and the write.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from proreus.api.field_error import FieldError
from proreus.server.schema.kinds.findings import Findings
from proreus.server.schema.kinds.service_families import check_families, choose_families
from proreus.server.schema.kinds.service_validation import (
    TOPOLOGY_HINTS,
    TOPOLOGY_MODE,
    check_load_balancer_status,
    check_service,
    check_service_update,
)
from proreus.server.schema.rules import JsonObject, Rules

Json = Mapping[str, Any]
_AFFINITY_S = 10800
_EXTERNAL = ("NodePort", "LoadBalancer")


def needs_cluster_ip(spec: Json) -> bool:
    return spec.get("type") in ("ClusterIP", "NodePort", "LoadBalancer")


def needs_node_ports(spec: Json) -> bool:
    if spec.get("type") == "NodePort":
        return True
    return (
        spec.get("type") == "LoadBalancer"
        and spec.get("allocateLoadBalancerNodePorts") is not False
    )


def needs_health_port(spec: Json) -> bool:
    return spec.get("type") == "LoadBalancer" and spec.get("externalTrafficPolicy") == "Local"


def _default(obj: JsonObject) -> None:
    spec = obj["spec"]
    spec.setdefault("sessionAffinity", "None")
    if spec["sessionAffinity"] == "ClientIP":
        config = spec.setdefault("sessionAffinityConfig", {})
        config.setdefault("clientIP", {}).setdefault("timeoutSeconds", _AFFINITY_S)
    elif spec["sessionAffinity"] == "None":
        spec.pop("sessionAffinityConfig", None)
    spec.setdefault("type", "ClusterIP")
    for port in spec.get("ports") or ():
        port.setdefault("protocol", "TCP")
        if port.get("targetPort") in (None, 0, ""):
            port["targetPort"] = port.get("port") or 0
    if spec["type"] in _EXTERNAL or (spec["type"] == "ClusterIP" and spec.get("externalIPs")):
        spec.setdefault("externalTrafficPolicy", "Cluster")
    if needs_cluster_ip(spec):
        spec.setdefault("internalTrafficPolicy", "Cluster")
    if spec["type"] == "LoadBalancer":
        spec.setdefault("allocateLoadBalancerNodePorts", True)
        for entry in _ingress(obj):
            if entry.get("ip"):
                entry.setdefault("ipMode", "VIP")


def _ingress(obj: Json) -> list[JsonObject]:
    return ((obj.get("status") or {}).get("loadBalancer") or {}).get("ingress") or []


def _prepare_create(obj: JsonObject) -> None:
    spec = obj["spec"]
    if spec.get("clusterIP") and not spec.get("clusterIPs"):
        spec["clusterIPs"] = [spec["clusterIP"]]
    obj["status"] = {"loadBalancer": {}}
    if needs_cluster_ip(spec):
        choose_families(spec)


def _prepare_update(new: JsonObject, old: JsonObject) -> None:
    spec, before = new["spec"], old["spec"]
    _keep_allocated(spec, before)
    _drop_unused(spec, before)
    if spec.get("clusterIP") and not spec.get("clusterIPs"):
        spec["clusterIPs"] = [spec["clusterIP"]]
    elif spec.get("clusterIPs") and not spec.get("clusterIP"):
        if spec["clusterIPs"] == before.get("clusterIPs"):
            spec.pop("clusterIPs")
        else:
            spec["clusterIP"] = spec["clusterIPs"][0]
    if needs_cluster_ip(spec):
        for key in ("ipFamilyPolicy", "ipFamilies"):
            if not spec.get(key) and before.get(key):
                spec[key] = before[key]
        choose_families(spec)


def _keep_allocated(spec: JsonObject, before: Json) -> None:
    """A client that does not mention what the server chose means to keep it."""
    if needs_cluster_ip(spec) and needs_cluster_ip(before) and not spec.get("clusterIP"):
        if before.get("clusterIP"):
            spec["clusterIP"] = before["clusterIP"]
        if not spec.get("clusterIPs") and before.get("clusterIPs"):
            spec["clusterIPs"] = list(before["clusterIPs"])
    if needs_node_ports(spec) and needs_node_ports(before):
        known = {
            (port.get("protocol"), port.get("port")): port.get("nodePort")
            for port in before.get("ports") or ()
        }
        used = {port.get("nodePort") for port in spec.get("ports") or ()}
        for port in spec.get("ports") or ():
            kept = known.get((port.get("protocol"), port.get("port")))
            if not port.get("nodePort") and kept and kept not in used:
                port["nodePort"] = kept
                used.add(kept)
    if needs_health_port(spec) and needs_health_port(before) and before.get("healthCheckNodePort"):
        spec.setdefault("healthCheckNodePort", before["healthCheckNodePort"])


def _drop_unused(spec: JsonObject, before: Json) -> None:
    """What belonged to the type the service had, unless the client changed it just now."""

    def unchanged(key: str) -> bool:
        return spec.get(key) == before.get(key)

    if needs_cluster_ip(before) and not needs_cluster_ip(spec) and unchanged("clusterIP"):
        for key in ("clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"):
            spec.pop(key, None)
    if needs_node_ports(before) and not needs_node_ports(spec):
        had = {port.get("nodePort") for port in before.get("ports") or ()}
        for port in spec.get("ports") or ():
            if port.get("nodePort") in had:
                port.pop("nodePort", None)
    kind, was = spec.get("type"), before.get("type")
    left: list[str] = []
    if needs_health_port(before) and not needs_health_port(spec):
        left.append("healthCheckNodePort")
    if was == "LoadBalancer" and kind != "LoadBalancer":
        left += ["allocateLoadBalancerNodePorts", "loadBalancerClass"]
    if was in _EXTERNAL and kind not in _EXTERNAL:
        left.append("externalTrafficPolicy")
    if was == "ExternalName" and kind != "ExternalName":
        left.append("externalName")
    for key in left:
        if unchanged(key):
            spec.pop(key, None)


def _validate(obj: JsonObject) -> list[FieldError]:
    found = _address_faults(obj)
    if not found:
        check_service(found, obj)
    return found


def _address_faults(obj: JsonObject) -> Findings:
    found = Findings()
    if needs_cluster_ip(obj["spec"]):
        check_families(found, obj["spec"])
    return found


def _validate_update(new: JsonObject, old: JsonObject) -> list[FieldError]:
    found = _address_faults(new)
    if not found:
        check_service_update(found, new, old)
        check_service(found, new)
    return found


def _validate_status(new: JsonObject, old: JsonObject) -> list[FieldError]:
    found = Findings()
    check_load_balancer_status(found, new)
    return found


def _warnings(obj: JsonObject) -> list[str]:
    spec, found = obj["spec"], list[str]()
    kind, headless = spec.get("type"), spec.get("clusterIP") == "None"
    if TOPOLOGY_HINTS in (obj["metadata"].get("annotations") or {}):
        found.append(
            f"annotation {TOPOLOGY_HINTS} is deprecated, please use {TOPOLOGY_MODE} instead"
        )
    if kind == "ClusterIP" and headless:
        ignored = [key for key in ("loadBalancerIP", "externalIPs") if spec.get(key)]
        if spec.get("sessionAffinity") != "None":
            ignored.append("SessionAffinity")  # spelled as the Go field is
        found += [f"spec.{key} is ignored for headless services" for key in ignored]
    elif spec.get("externalIPs") and kind != "ExternalName":
        why = "is deprecated and may no longer be implemented in some clusters"
        found.append(f"spec.externalIPs {why}")
    if kind == "ExternalName" and spec.get("externalIPs"):
        found.append('spec.externalIPs is ignored when spec.type is "ExternalName"')
    if kind != "ExternalName" and spec.get("externalName"):
        found.append('spec.externalName is ignored when spec.type is not "ExternalName"')
    if spec.get("trafficDistribution") == "PreferClose":
        why = '"PreferClose" is deprecated; use "PreferSameZone"'
        found.append(f"spec.trafficDistribution: {why}")
    return found


SERVICE = Rules(
    default=_default,
    prepare_create=_prepare_create,
    prepare_update=_prepare_update,
    validate=_validate,
    validate_update=_validate_update,
    validate_status=_validate_status,
    warnings=_warnings,
)
