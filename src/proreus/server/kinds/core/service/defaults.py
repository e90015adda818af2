"""Defaults of a service, what follows a change of its type, and what a client may leave out.

Addresses and node ports are chosen against storage, between these rules and the write, by
``allocation.service_addresses``.
"""

from __future__ import annotations

from proreus.api.json_types import Json, JsonObject
from proreus.server.kinds.core.service.families import choose_families
from proreus.server.kinds.parts.load_balancer_status import ingress_points

_AFFINITY_S = 10800
_EXTERNAL = ("NodePort", "LoadBalancer")


def needs_cluster_ip(spec: Json) -> bool:
    return spec.get("type") in ("ClusterIP", "NodePort", "LoadBalancer")


def has_node_ports(spec: Json) -> bool:
    return spec.get("type") in _EXTERNAL


def needs_node_ports(spec: Json) -> bool:
    if spec.get("type") == "NodePort":
        return True
    return (
        spec.get("type") == "LoadBalancer"
        and spec.get("allocateLoadBalancerNodePorts") is not False
    )


def needs_health_port(spec: Json) -> bool:
    return spec.get("type") == "LoadBalancer" and spec.get("externalTrafficPolicy") == "Local"


def default(obj: JsonObject) -> None:
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
        for entry in ingress_points(obj):
            if entry.get("ip"):
                entry.setdefault("ipMode", "VIP")


def prepare_create(obj: JsonObject) -> None:
    spec = obj["spec"]
    if spec.get("clusterIP") and not spec.get("clusterIPs"):
        spec["clusterIPs"] = [spec["clusterIP"]]
    obj["status"] = {"loadBalancer": {}}
    if needs_cluster_ip(spec):
        choose_families(spec)


def prepare_update(new: JsonObject, old: JsonObject) -> None:
    spec, before = new["spec"], old["spec"]
    _keep_allocated(spec, before)
    _drop_unused(spec, before)
    _sync_cluster_ips(spec, before)
    if needs_cluster_ip(spec):
        for key in ("ipFamilyPolicy", "ipFamilies"):
            if not spec.get(key) and before.get(key):
                spec[key] = before[key]
        choose_families(spec)


def _sync_cluster_ips(spec: JsonObject, before: Json) -> None:
    """Clients that know ``clusterIP`` alone mean ``clusterIPs`` too; who names both is judged."""
    first, was = spec.get("clusterIP"), before.get("clusterIP")
    if (first or "") == (was or ""):
        if not spec.get("clusterIPs") and before.get("clusterIPs"):
            spec["clusterIPs"] = list(before["clusterIPs"])
    elif (spec.get("clusterIPs") or []) == (before.get("clusterIPs") or []):
        if first:
            spec["clusterIPs"] = [first]
        else:
            spec.pop("clusterIPs", None)


def _keep_allocated(spec: JsonObject, before: Json) -> None:
    """What the server chose is kept when the client leaves it out."""
    keeps_address = needs_cluster_ip(spec) and needs_cluster_ip(before)
    if keeps_address and not spec.get("clusterIP") and before.get("clusterIP"):
        spec["clusterIP"] = before["clusterIP"]
    if has_node_ports(spec) and has_node_ports(before):
        known = {port.get("name") or "": port.get("nodePort") for port in before.get("ports") or ()}
        used = {port.get("nodePort") for port in spec.get("ports") or ()}
        for port in spec.get("ports") or ():
            kept = known.get(port.get("name") or "")
            if not port.get("nodePort") and kept and kept not in used:
                port["nodePort"] = kept
    if needs_health_port(spec) and needs_health_port(before) and before.get("healthCheckNodePort"):
        spec.setdefault("healthCheckNodePort", before["healthCheckNodePort"])


def _node_ports(spec: Json) -> set[int]:
    return {port["nodePort"] for port in spec.get("ports") or () if port.get("nodePort")}


def _drop_unused(spec: JsonObject, before: Json) -> None:
    """Fields of the type the service had, unless the client changed them in this update."""

    def unchanged(key: str) -> bool:
        return spec.get(key) == before.get(key)

    left: list[str] = []
    if needs_cluster_ip(before) and not needs_cluster_ip(spec):
        left += ["ipFamilies", "ipFamilyPolicy"]
        if unchanged("clusterIP") and unchanged("clusterIPs"):
            left += ["clusterIP", "clusterIPs"]
    if has_node_ports(before) and not has_node_ports(spec):
        had, has = _node_ports(before), _node_ports(spec)
        for port in spec.get("ports") or () if had >= has else ():
            port.pop("nodePort", None)
    kind, was = spec.get("type"), before.get("type")
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
