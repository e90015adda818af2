"""What ``pods/<id>/proxy`` and ``services/<id>/proxy`` mean: a pod, a port, a scheme. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from proreus.api.status import BadRequest, ServiceUnavailable
from proreus.lazy_dataclass import dataclass

_SCHEMES = ("", "http", "https")
_DEFAULT_PORT = 80


@dataclass(frozen=True, slots=True)
class Target:
    """An id taken apart: ``name``, ``name:port`` or ``scheme:name:port``. "" if absent."""

    name: str
    port: str = ""
    scheme: str = ""


def parse_target(text: str, kind: str) -> Target:
    """Raises BadRequest."""
    match text.split(":"):
        case [name] if name:
            return Target(name)
        case [name, port] if name and port:
            return Target(name, port)
        case [scheme, name, port] if name and scheme in _SCHEMES:
            return Target(name, port, scheme)
        case _:
            raise BadRequest(f'invalid {kind} request "{text}"')


def pod_port(pod: Mapping[str, Any], requested: str) -> int:
    """The requested one, else the first that the pod declares. Raises BadRequest."""
    if requested:
        if (
            not requested.isascii()
            or not requested.isdecimal()
            or not 0 < int(requested[:6]) < 65536
        ):
            raise BadRequest(f'invalid port "{requested}"')
        return int(requested)
    for container in pod["spec"].get("containers") or ():
        for port in container.get("ports") or ():
            return int(port["containerPort"])
    return _DEFAULT_PORT


def service_endpoints(
    service: Mapping[str, Any], slices: Iterable[Mapping[str, Any]], requested: str
) -> list[Target]:
    """The ready pods behind a service's port. Raises ServiceUnavailable if there are none."""
    name = service["metadata"]["name"]
    port_name = _port_name(service, requested)
    found = [
        Target(endpoint["targetRef"]["name"], str(port["port"]))
        for one in slices
        for port in one.get("ports") or ()
        if (port.get("name") or "") == port_name and port.get("port")
        for endpoint in one.get("endpoints") or ()
        if _is_ready_pod(endpoint)
    ]
    if not found:
        raise ServiceUnavailable(f'no endpoints available for service "{name}"')
    return found


def _port_name(service: Mapping[str, Any], requested: str) -> str:
    ports: list[dict[str, Any]] = service["spec"].get("ports") or []
    if not requested and len(ports) == 1:
        return ports[0].get("name") or ""
    for port in ports:
        name = port.get("name") or ""
        if requested in (name, str(port["port"])):
            return name
    raise ServiceUnavailable(
        f'no service port "{requested}" found for service "{service["metadata"]["name"]}"'
    )


def _is_ready_pod(endpoint: Mapping[str, Any]) -> bool:
    is_ready = (endpoint.get("conditions") or {}).get("ready") is not False
    return is_ready and (endpoint.get("targetRef") or {}).get("kind") == "Pod"
