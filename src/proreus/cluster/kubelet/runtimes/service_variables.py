"""The variables by which containers find the services of their namespace.

A node lists services when a container starts, instead of following those of the whole cluster.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress

from proreus.api.json_types import Json
from proreus.api.object import KubeObject, plain_field
from proreus.api.status import NotFound
from proreus.client import Client
from proreus.cluster.kubelet.runtimes.pod_spec.pod_spec import PodSpec

_SERVER_NAMESPACE, _SERVER = "default", "kubernetes"


async def read_service_variables(
    client: Client, pod: PodSpec, *, with_server: bool = True
) -> dict[str, str]:
    """Of the API server, and of the pod's namespace unless it wants no links. ``with_server``
    False: containers are told otherwise where that is. Raises ``ApiError``, ``TransportError``."""
    services = client.core_v1.services
    found: list[KubeObject] = []
    if with_server:
        with suppress(NotFound):  # a server that has just begun
            found.append(await services(_SERVER_NAMESPACE).get(_SERVER))
    if pod.spec.get("enableServiceLinks") is not False:
        found += (await services(pod.namespace).list()).items
    if not with_server:
        found = [one for one in found if (one.namespace, one.name) != (_SERVER_NAMESPACE, _SERVER)]
    return service_variables(found)


def service_variables(services: Iterable[KubeObject]) -> dict[str, str]:
    """Those of services without an address of their own are left out. Pure."""
    made: dict[str, str] = {}
    for service in services:
        spec = plain_field(service, "spec")
        address, ports = spec.get("clusterIP") or "None", spec.get("ports") or ()
        if address != "None" and ports:
            made |= _of_service(_variable_name(service.name), address, ports)
    return made


def _of_service(name: str, address: str, ports: Sequence[Json]) -> dict[str, str]:
    made = {f"{name}_SERVICE_HOST": address, f"{name}_SERVICE_PORT": str(ports[0]["port"])}
    for port in ports:
        if port.get("name"):
            made[f"{name}_SERVICE_PORT_{_variable_name(port['name'])}"] = str(port["port"])
    bracketed = f"[{address}]" if ":" in address else address
    for port in reversed(ports):  # the first one names the service
        protocol = str(port.get("protocol") or "TCP")
        url = f"{protocol.lower()}://{bracketed}:{port['port']}"
        prefix = f"{name}_PORT_{port['port']}_{protocol}"
        made |= {
            f"{name}_PORT": url,
            prefix: url,
            f"{prefix}_PROTO": protocol.lower(),
            f"{prefix}_PORT": str(port["port"]),
            f"{prefix}_ADDR": address,
        }
    return made


def _variable_name(name: str) -> str:
    return name.replace("-", "_").upper()
