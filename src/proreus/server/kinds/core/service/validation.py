"""Validation and warnings of services, in the order Kubernetes checks them."""

from __future__ import annotations

from typing import Any

from proreus.api.field_error import FieldError
from proreus.api.json_types import Json, JsonObject
from proreus.api.values import names
from proreus.server.kinds.core.service.defaults import needs_cluster_ip, needs_health_port
from proreus.server.kinds.core.service.families import check_families
from proreus.server.kinds.parts.addresses import (
    address_warnings,
    check_non_special_ip,
    network_warnings,
)
from proreus.server.kinds.parts.findings import Findings, items
from proreus.server.kinds.parts.load_balancer_status import ONLY_LOAD_BALANCERS
from proreus.server.kinds.parts.pod_template.containers import PROTOCOLS

_TYPES = ("ClusterIP", "ExternalName", "LoadBalancer", "NodePort")
_DISTRIBUTIONS = ("PreferClose", "PreferSameZone", "PreferSameNode")
_DAY_S = 86400
_TOPOLOGY_MODE = "service.kubernetes.io/topology-mode"
_TOPOLOGY_HINTS = "service.kubernetes.io/topology-aware-hints"
_SOURCE_RANGES = "service.beta.kubernetes.io/load-balancer-source-ranges"
_KEPT = "may not change once set"


def validate(obj: JsonObject) -> list[FieldError]:
    found = _address_faults(obj)
    if not found:
        _check_service(found, obj)
    return found


def _address_faults(obj: JsonObject) -> Findings:
    found = Findings()
    if needs_cluster_ip(obj["spec"]):
        check_families(found, obj["spec"])
    return found


def validate_update(new: JsonObject, old: JsonObject) -> list[FieldError]:
    found = _address_faults(new)
    if not found:
        _check_update(found, new, old)
        _check_service(found, new)
    return found


def _check_service(found: Findings, obj: Json) -> None:
    spec, annotations = obj["spec"], obj["metadata"].get("annotations") or {}
    _check_topology(found, annotations)
    kind, headless = spec.get("type"), (spec.get("clusterIPs") or [""])[0] == "None"
    if not spec.get("ports") and not headless and kind != "ExternalName":
        found.require("spec.ports", None)
    _check_type_fields(found, spec, headless)
    _check_ports(found, spec)
    found.labels("spec.selector", spec.get("selector"))
    found.required_one_of("spec.sessionAffinity", spec.get("sessionAffinity"), ("ClientIP", "None"))
    if spec.get("sessionAffinity") == "ClientIP":
        _check_affinity(found, spec.get("sessionAffinityConfig") or {})
    for where, address in items(spec.get("externalIPs"), "spec.externalIPs"):
        before = len(found)
        found.name(where, address, names.ip_address)
        if len(found) == before:
            check_non_special_ip(found, where, address)
    found.required_one_of("spec.type", kind, _TYPES)
    _check_duplicate_ports(found, spec)
    _check_load_balancer(found, spec, annotations)
    _check_traffic(found, spec)


def _check_topology(found: Findings, annotations: Json) -> None:
    """The old and the new name of one thing."""
    mode, hints = annotations.get(_TOPOLOGY_MODE), annotations.get(_TOPOLOGY_HINTS)
    if mode is not None and hints is not None and mode != hints:
        why = f"must match annotations[{_TOPOLOGY_HINTS}] when both are specified"
        found.invalid(f"metadata.annotations[{_TOPOLOGY_MODE}]", mode, why)


def _check_type_fields(found: Findings, spec: Json, headless: bool) -> None:
    match spec.get("type"):
        case "LoadBalancer":
            if headless:
                found.invalid(
                    "spec.clusterIPs[0]",
                    "None",
                    "may not be set to 'None' for LoadBalancer services",
                )
        case "NodePort":
            if headless:
                found.invalid(
                    "spec.clusterIPs[0]", "None", "may not be set to 'None' for NodePort services"
                )
        case "ExternalName":
            for key in ("clusterIPs", "ipFamilies", "ipFamilyPolicy"):
                if spec.get(key):
                    found.forbid(f"spec.{key}", "may not be set for ExternalName services")
            name = (spec.get("externalName") or "").removesuffix(".")
            found.required_name("spec.externalName", name)


def _check_ports(found: Findings, spec: Json) -> None:
    ports = spec.get("ports") or []
    seen: set[str] = set()
    for where, port in items(ports, "spec.ports"):
        name = port.get("name") or ""
        if len(ports) > 1 and not name:
            found.require(f"{where}.name", name)
        elif name:
            found.name(f"{where}.name", name, names.dns_label)
            if name in seen:
                found.duplicate(f"{where}.name", name)
            seen.add(name)
        found.port(f"{where}.port", port.get("port") or 0)
        found.required_one_of(f"{where}.protocol", port.get("protocol"), PROTOCOLS)
        found.port_or_name(f"{where}.targetPort", port.get("targetPort"))
        found.name(f"{where}.appProtocol", port.get("appProtocol"), names.qualified_name)


def _check_affinity(found: Findings, config: Json) -> None:
    at = "spec.sessionAffinityConfig.clientIP.timeoutSeconds"
    seconds = (config.get("clientIP") or {}).get("timeoutSeconds")
    if seconds is None or not 0 < seconds <= _DAY_S:
        found.invalid(at, seconds, f"must be greater than 0 and less than {_DAY_S}")


def _check_duplicate_ports(found: Findings, spec: Json) -> None:
    ports = items(spec.get("ports"), "spec.ports")
    if spec.get("type") == "ClusterIP":
        for where, port in ports:
            if port.get("nodePort"):
                found.forbid(f"{where}.nodePort", "may not be used when `type` is 'ClusterIP'")
    on_nodes: set[tuple[Any, Any, Any]] = set()  # those of other numbers are refused a node port
    for where, port in ports:
        on_node = (port.get("protocol"), port.get("port"), port.get("nodePort"))
        if on_node[-1] and on_node in on_nodes:
            found.duplicate(f"{where}.nodePort", on_node[-1])
        on_nodes.add(on_node)
    seen: set[tuple[Any, Any]] = set()
    for where, port in ports:
        key = (port.get("protocol"), port.get("port"))
        if key in seen:
            printed = {
                "Name": "",
                "Protocol": key[0],
                "AppProtocol": None,
                "Port": key[1],
                "TargetPort": 0,
                "NodePort": 0,
            }
            found.duplicate(where, printed)
        seen.add(key)


def _check_load_balancer(found: Findings, spec: Json, annotations: Json) -> None:
    is_balancer = spec.get("type") == "LoadBalancer"
    if ranges := spec.get("loadBalancerSourceRanges"):
        at = "spec.LoadBalancerSourceRanges"  # spelled as the Go field is
        if not is_balancer:
            found.forbid(at, ONLY_LOAD_BALANCERS)
        for where, network in items(ranges, at):
            found.name(where, network.strip(), names.cidr)
    elif (text := annotations.get(_SOURCE_RANGES)) is not None:
        at = f"metadata.annotations[{_SOURCE_RANGES}]"
        if not is_balancer:
            found.forbid(at, ONLY_LOAD_BALANCERS)
        for network in text.split(",") if text.strip() else ():
            found.name(at, network.strip(), names.cidr)
    at = "spec.allocateLoadBalancerNodePorts"
    allocates = spec.get("allocateLoadBalancerNodePorts")
    if is_balancer and allocates is None:
        found.require("allocateLoadBalancerNodePorts", None)  # named without its parent
    elif not is_balancer and allocates is not None:
        found.forbid(at, ONLY_LOAD_BALANCERS)
    _check_class(found, spec)


def _check_class(found: Findings, spec: Json) -> None:
    if (name := spec.get("loadBalancerClass")) is None:
        return
    if spec.get("type") == "LoadBalancer":
        found.name("spec.loadBalancerClass", name, names.qualified_name)
    else:
        found.forbid("spec.loadBalancerClass", ONLY_LOAD_BALANCERS)


def _check_traffic(found: Findings, spec: Json) -> None:
    policy, kind = spec.get("externalTrafficPolicy") or "", spec.get("type")
    external = kind in ("NodePort", "LoadBalancer") or (
        kind == "ClusterIP" and bool(spec.get("externalIPs"))
    )
    at = "spec.externalTrafficPolicy"
    if not external:
        if policy:
            found.invalid(at, policy, "may only be set for externally-accessible services")
    else:
        found.required_one_of(at, policy, ("Cluster", "Local"))
    port = spec.get("healthCheckNodePort") or 0
    if port and not (kind == "LoadBalancer" and policy == "Local"):
        found.invalid(
            "spec.healthCheckNodePort",
            port,
            "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'",
        )
    internal = spec.get("internalTrafficPolicy")
    if internal is None and needs_cluster_ip(spec):
        found.require("spec.internalTrafficPolicy", None)
    found.one_of("spec.internalTrafficPolicy", internal, ("Cluster", "Local"))
    found.one_of("spec.trafficDistribution", spec.get("trafficDistribution"), _DISTRIBUTIONS)


def _check_update(found: Findings, new: Json, old: Json) -> None:
    spec, before = new["spec"], old["spec"]
    if "ExternalName" not in (spec.get("type"), before.get("type")):
        _check_kept_addresses(found, spec, before)
        _check_kept_families(found, spec, before)
    if before.get("type") == "LoadBalancer" and spec.get("type") == "LoadBalancer":
        name = spec.get("loadBalancerClass")
        if name != before.get("loadBalancerClass"):
            found.invalid("spec.loadBalancerClass", name, _KEPT)
    moved = spec.get("healthCheckNodePort") != before.get("healthCheckNodePort")
    if moved and needs_health_port(spec) and needs_health_port(before):
        found.forbid("spec.healthCheckNodePort", "field is immutable")


def _is_headless(spec: Json) -> bool:
    return bool(spec.get("clusterIPs") == ["None"])


def _check_kept_addresses(found: Findings, spec: Json, before: Json) -> None:
    """A second address may come and go; the first stays for good."""
    if _is_headless(spec) and _is_headless(before):
        return
    has, had, at = spec.get("clusterIPs") or [], before.get("clusterIPs") or [], "spec.clusterIPs"
    if len(has) == len(had):
        for index, (address, was) in enumerate(zip(has, had, strict=True)):
            if address != was:
                found.invalid(f"{at}[{index}]", has, _KEPT)
        return
    if not has:
        found.invalid(f"{at}[0]", has, "primary clusterIP can not be unset")
    elif had and has[0] != had[0]:
        found.invalid(f"{at}[0]", has, _KEPT)
    if len(has) == 1 < len(had) and spec.get("ipFamilyPolicy") != "SingleStack":
        why = "must be set to 'SingleStack' when releasing the secondary clusterIP"
        found.invalid("spec.ipFamilyPolicy", spec.get("ipFamilyPolicy"), why)


def _check_kept_families(found: Findings, spec: Json, before: Json) -> None:
    if _is_headless(spec) or _is_headless(before):
        return
    has, had, at = (
        spec.get("ipFamilies") or [],
        before.get("ipFamilies") or [],
        "spec.ipFamilies[0]",
    )
    if len(has) == len(had):
        for family, was in zip(has, had, strict=True):
            if family != was:
                found.invalid(at, has, _KEPT)
        return
    if has and had and has[0] != had[0]:
        found.invalid(at, spec.get("clusterIPs"), _KEPT)  # the addresses are printed, not these
    if len(has) == 1 < len(had) and spec.get("ipFamilyPolicy") != "SingleStack":
        why = "must be set to 'SingleStack' when releasing the secondary ipFamily"
        found.invalid("spec.ipFamilyPolicy", spec.get("ipFamilyPolicy"), why)


def _address_warnings(spec: Json) -> list[str]:
    found: list[str] = []
    if spec.get("clusterIP") not in (None, "", "None"):
        for where, address in items(spec.get("clusterIPs"), "spec.clusterIPs"):
            found += address_warnings(where, address)
    for where, address in items(spec.get("externalIPs"), "spec.externalIPs"):
        found += address_warnings(where, address)
    if address := spec.get("loadBalancerIP"):
        found += address_warnings("spec.loadBalancerIP", address)
    ranges = spec.get("loadBalancerSourceRanges")
    for where, network in items(ranges, "spec.loadBalancerSourceRanges"):
        found += network_warnings(where, network)
    return found


def warnings(obj: JsonObject) -> list[str]:
    spec, found = obj["spec"], list[str]()
    kind, headless = spec.get("type"), spec.get("clusterIP") == "None"
    if _TOPOLOGY_HINTS in (obj["metadata"].get("annotations") or {}):
        found.append(
            f"annotation {_TOPOLOGY_HINTS} is deprecated, please use {_TOPOLOGY_MODE} instead"
        )
    found += _address_warnings(spec)
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
