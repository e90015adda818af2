"""Services, endpoints, ingresses, network policies and addresses."""

from __future__ import annotations

from collections.abc import Sequence

from proreus.api.group_version import GroupKind, GroupResource
from proreus.server.views.columns.cells import (
    NONE,
    UNSET,
    Object,
    age,
    name_of,
    pairs,
    selector,
    shortened,
)
from proreus.server.views.columns.printer import Cells, Printer, columns


def _fill_service(obj: Object, now: float) -> Cells:
    spec = obj.get("spec") or {}
    return [
        name_of(obj),
        spec.get("type", ""),
        spec.get("clusterIP") or NONE,
        _external(obj),
        ",".join(_service_port(port) for port in spec.get("ports") or ()) or NONE,
        age(obj, now),
        pairs(spec.get("selector")),
    ]


def _service_port(port: Object) -> str:
    node_port = f":{port['nodePort']}" if port.get("nodePort") else ""
    return f"{port.get('port', 0)}{node_port}/{port.get('protocol', '')}"


def _external(obj: Object) -> str:
    spec = obj.get("spec") or {}
    fixed = spec.get("externalIPs") or []
    match spec.get("type"):
        case "ClusterIP" | "NodePort":
            return ",".join(fixed) or NONE
        case "LoadBalancer":
            return ",".join([*_balancer(obj), *fixed]) or "<pending>"
        case "ExternalName":
            return str(spec.get("externalName", ""))
        case _:
            return "<unknown>"


def _balancer(obj: Object) -> list[str]:
    """The addresses a load balancer reports, each once, sorted."""
    balancer = (obj.get("status") or {}).get("loadBalancer") or {}
    entries = balancer.get("ingress") or ()
    return sorted({entry.get("ip") or entry.get("hostname") or "" for entry in entries} - {""})


def _fill_endpoints(obj: Object, now: float) -> Cells:
    subsets = obj.get("subsets") or ()
    text = shortened(_addresses(subsets)) if subsets else NONE
    return [name_of(obj), text, age(obj, now)]


def _addresses(subsets: Sequence[Object]) -> list[str]:
    found = []
    for subset in subsets:
        hosts = [address.get("ip", "") for address in subset.get("addresses") or ()]
        ports = subset.get("ports") or ()
        if not ports:
            found += hosts
        for port in ports:
            found += [_host_port(host, port.get("port", 0)) for host in hosts]
    return found


def _host_port(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _fill_endpoint_slice(obj: Object, now: float) -> Cells:
    ports = [_slice_port(port) for port in obj.get("ports") or ()]
    hosts = [
        address
        for endpoint in obj.get("endpoints") or ()
        for address in endpoint.get("addresses") or ()
    ]
    return [
        name_of(obj),
        obj.get("addressType", ""),
        shortened(ports) or UNSET,
        shortened(hosts) or UNSET,
        age(obj, now),
    ]


def _slice_port(port: Object) -> str:
    if port.get("port") is not None:
        return str(port["port"])
    return str(port.get("name") or "*")


def _fill_ingress(obj: Object, now: float) -> Cells:
    spec = obj.get("spec") or {}
    rules = spec.get("rules") or ()
    hosts = [rule["host"] for rule in rules if rule.get("host")]
    return [
        name_of(obj),
        spec.get("ingressClassName") or NONE,
        _hosts(hosts, len(rules)),
        ",".join(_balancer(obj)),
        "80, 443" if spec.get("tls") else "80",
        age(obj, now),
    ]


def _hosts(hosts: list[str], rules: int) -> str:
    if not hosts:
        return "*"
    # Rules without a host count only once more hosts follow than are shown.
    return shortened(hosts, total=rules if len(hosts) >= 3 else len(hosts))


def _fill_ingress_class(obj: Object, now: float) -> Cells:
    spec = obj.get("spec") or {}
    parameters = spec.get("parameters")
    text = NONE
    if parameters:
        kind = GroupKind(parameters.get("apiGroup") or "", parameters.get("kind", ""))
        text = f"{kind}/{parameters.get('name', '')}"
    return [name_of(obj), spec.get("controller", ""), text, age(obj, now)]


def _fill_network_policy(obj: Object, now: float) -> Cells:
    chosen = selector((obj.get("spec") or {}).get("podSelector"))
    return [name_of(obj), chosen, age(obj, now)]


def _fill_ip_address(obj: Object, now: float) -> Cells:
    parent = (obj.get("spec") or {}).get("parentRef")
    text = NONE
    if parent:
        resource = GroupResource(parent.get("group") or "", parent.get("resource") or "")
        where = f"{parent['namespace']}/" if parent.get("namespace") else ""
        text = f"{resource}/{where}{parent.get('name', '')}"
    return [name_of(obj), text, age(obj, now)]


def _fill_service_cidr(obj: Object, now: float) -> Cells:
    ranges = (obj.get("spec") or {}).get("cidrs") or ()
    return [name_of(obj), ",".join(ranges), age(obj, now)]


PRINTERS: dict[tuple[str, str], Printer] = {
    ("", "Service"): Printer(
        columns("Name", "Type", "Cluster-IP", "External-IP", "Port(s)", "Age", "Selector*"),
        _fill_service,
    ),
    ("", "Endpoints"): Printer(columns("Name", "Endpoints", "Age"), _fill_endpoints),
    ("discovery.k8s.io", "EndpointSlice"): Printer(
        columns("Name", "AddressType", "Ports", "Endpoints", "Age"), _fill_endpoint_slice
    ),
    ("networking.k8s.io", "Ingress"): Printer(
        columns("Name", "Class", "Hosts", "Address", "Ports", "Age"), _fill_ingress
    ),
    ("networking.k8s.io", "IngressClass"): Printer(
        columns("Name", "Controller", "Parameters", "Age"), _fill_ingress_class
    ),
    ("networking.k8s.io", "NetworkPolicy"): Printer(
        columns("Name", "Pod-Selector", "Age"), _fill_network_policy
    ),
    ("networking.k8s.io", "IPAddress"): Printer(
        columns("Name", "ParentRef", "Age"), _fill_ip_address
    ),
    ("networking.k8s.io", "ServiceCIDR"): Printer(
        columns("Name", "CIDRs", "Age"), _fill_service_cidr
    ),
}
