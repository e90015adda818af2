"""Resolves a service to an address, for a server without a cluster network of its own.

Its ready endpoints first, from EndpointSlices and then from Endpoints: these are addresses of
processes. Without any its ClusterIP, for servers that stand inside a network that routes it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from proreus.api.json_types import Json
from proreus.api.wire import splice
from proreus.server.registry.collections import Collections
from proreus.server.webhooks.client_config import ServiceReference

_SERVICE_LABEL = "kubernetes.io/service-name"


class UnresolvedService(Exception):
    """A service has no address."""


class ServiceResolver:
    """``resolve`` looks at what is cached: an address that just changed may be found late."""

    def __init__(self, collections: Collections) -> None:
        self._services = collections.named("", "v1", "services")
        self._endpoints = collections.named("", "v1", "endpoints")
        self._slices = collections.named("discovery.k8s.io", "v1", "endpointslices")

    def resolve(self, service: ServiceReference) -> tuple[str, int]:
        """Host and port. Raises UnresolvedService."""
        return self.resolve_all(service)[0]

    def resolve_all(self, service: ServiceReference) -> list[tuple[str, int]]:
        """Every host and port that answers for it, at least one. Raises UnresolvedService."""
        namespace, name, port = service.namespace, service.name, service.port
        found = self._services.cache.peek(f"{namespace}/{name}")
        if found is None:
            raise UnresolvedService(f'service "{name}" not found')
        spec = splice.decode_item(found.item).get("spec") or {}
        if spec.get("type") == "ExternalName":
            return [(spec["externalName"], port)]
        ports = [one for one in spec.get("ports") or () if one.get("port") == port]
        if not ports:
            raise UnresolvedService(f'no service port {port} found for service "{name}"')
        port_name = ports[0].get("name") or ""
        if behind := list(self._addresses(namespace, name, port_name)):
            return behind
        cluster_ip = spec.get("clusterIP") or ""
        if cluster_ip in ("", "None"):
            raise UnresolvedService(f'no endpoints available for service "{name}"')
        return [(cluster_ip, port)]

    def _addresses(self, namespace: str, name: str, port_name: str) -> Iterator[tuple[str, int]]:
        for cached in self._slices.cache.peek_all(namespace) or ():
            if cached.labels.get(_SERVICE_LABEL) == name:
                yield from _of_slice(splice.decode_item(cached.item), port_name)
        found = self._endpoints.cache.peek(f"{namespace}/{name}")
        if found is not None:
            for subset in splice.decode_item(found.item).get("subsets") or ():
                for address in subset.get("addresses") or ():
                    yield from _at(address["ip"], subset.get("ports") or (), port_name)


def _of_slice(found: Json, port_name: str) -> Iterator[tuple[str, int]]:
    for endpoint in found.get("endpoints") or ():
        if (endpoint.get("conditions") or {}).get("ready") is False:
            continue
        for address in endpoint.get("addresses") or ():
            yield from _at(address, found.get("ports") or (), port_name)


def _at(address: str, ports: Iterable[Json], name: str) -> Iterator[tuple[str, int]]:
    for port in ports:
        if (port.get("name") or "") == name and port.get("port"):
            yield address, port["port"]
