"""Service: a set of pods under one address."""

from __future__ import annotations

from proreus.api.json_types import Json
from proreus.api.values import names
from proreus.server.kinds.core.service import defaults, validation
from proreus.server.kinds.parts.cells import NONE, age, name_of, pairs
from proreus.server.kinds.parts.load_balancer_status import (
    balancer_addresses,
    validate_load_balancer_status,
)
from proreus.server.resource import Lifecycle, Names, Persistence, Resource, Rules, Subresource
from proreus.server.resource.printer import Cells, Printer
from proreus.server.resource.selectable import at_paths
from proreus.server.resource.subresource import PROXY


def _fill(obj: Json, now: float) -> Cells:
    spec = obj.get("spec") or {}
    return [
        name_of(obj),
        spec.get("type", ""),
        spec.get("clusterIP") or NONE,
        _external_address(obj),
        ",".join(_service_port(port) for port in spec.get("ports") or ()) or NONE,
        age(obj, now),
        pairs(spec.get("selector")),
    ]


def _service_port(port: Json) -> str:
    node_port = f":{port['nodePort']}" if port.get("nodePort") else ""
    return f"{port.get('port', 0)}{node_port}/{port.get('protocol', '')}"


def _external_address(obj: Json) -> str:
    spec = obj.get("spec") or {}
    fixed = spec.get("externalIPs") or []
    match spec.get("type"):
        case "ClusterIP" | "NodePort":
            return ",".join(fixed) or NONE
        case "LoadBalancer":
            return ",".join([*balancer_addresses(obj), *fixed]) or "<pending>"
        case "ExternalName":
            return str(spec.get("externalName", ""))
        case _:
            return "<unknown>"


_NAMES = Names.of("", "v1", "Service", "services", "svc", categories=("all",))
_V1 = _NAMES.group_version

RESOURCES = (
    Resource(
        names=_NAMES,
        namespaced=True,
        subresources=(
            Subresource(name="proxy", kind=_V1.kind("ServiceProxyOptions"), verbs=PROXY),
        ),
        has_status=True,
        persistence=Persistence(prefix="services/specs"),
        lifecycle=Lifecycle(create_on_update=True, returns_deleted=True),
        selectable=at_paths("spec.clusterIP", "spec.type"),
        name_rule=names.dns_label,
        rules=Rules(
            default=defaults.default,
            prepare_create=defaults.prepare_create,
            prepare_update=defaults.prepare_update,
            validate=validation.validate,
            validate_update=validation.validate_update,
            validate_status=validate_load_balancer_status,
            warnings=validation.warnings,
        ),
        printer=Printer.of(
            _fill, "Name", "Type", "Cluster-IP", "External-IP", "Port(s)", "Age", "Selector*"
        ),
    ),
)
