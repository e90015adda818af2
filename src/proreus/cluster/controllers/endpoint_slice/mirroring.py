"""EndpointSlices of Endpoints that users write themselves, for Services without a selector.

Receives: keys of Endpoints, from their events and those of the Services of their names.  Hands on:
one slice per set of ports and address family. Endpoints that a controller writes are left out:
their Service has a selector, or they ask for it by a label.
"""

from __future__ import annotations

from collections.abc import Iterable
from ipaddress import ip_address
from typing import Any

from proreus.api.frozen import thaw
from proreus.api.json_types import JsonObject
from proreus.api.object import KubeObject
from proreus.client.controller import Controller, Result, Watch
from proreus.client.controller.sources import own_key
from proreus.client.ownership import controller_reference
from proreus.cluster.controllers.context import ControllerContext
from proreus.cluster.controllers.endpoint_slice.slices import MANAGED_LABEL, SERVICE_LABEL, Slices
from proreus.cluster.controllers.reconciler import ObjectReconciler
from proreus.cluster.pod_status import is_deleting

MANAGER = "endpointslicemirroring-controller.k8s.io"
SKIP_LABEL = "endpointslice.kubernetes.io/skip-mirror"
_LEADER = "control-plane.alpha.kubernetes.io/leader"  # Endpoints that are a lock
_NOT_COPIED = (
    "kubectl.kubernetes.io/last-applied-configuration",
    "endpoints.kubernetes.io/last-change-trigger-time",
)
_ADDRESSES_MAX = 1000


def endpoint_mirroring_controller(context: ControllerContext) -> Controller:
    endpoints = Mirroring(context)
    watches = [Watch(endpoints.services, own_key)]
    owned = [endpoints.slices.informer]
    return endpoints.controller("endpointslice-mirroring", owns=owned, watches=watches)


# Decisions


def is_mirrored(endpoints: KubeObject, service: KubeObject | None) -> bool:
    return (
        service is not None
        and not service.spec.selector
        and not is_deleting(endpoints)
        and endpoints.labels.get(SKIP_LABEL) != "true"
        and _LEADER not in endpoints.annotations
    )


def mirrored(endpoints: KubeObject) -> list[JsonObject]:
    """A slice per set of ports and address family; of a subset the first thousand addresses."""
    slices: dict[tuple[str, str], JsonObject] = {}
    for subset in endpoints.get("subsets") or ():
        ports = [_port(port) for port in subset.get("ports") or ()]
        for address, is_ready in _addresses(subset):
            family = f"IPv{ip_address(address['ip']).version}"
            found = slices.setdefault((family, repr(ports)), _slice(endpoints, family, ports))
            made = _endpoint(address, is_ready=is_ready)
            if made not in found["endpoints"]:
                found["endpoints"].append(made)
    return [slices[key] for key in sorted(slices)]


def _addresses(subset: Any) -> Iterable[tuple[Any, bool]]:
    ready = [(one, True) for one in subset.get("addresses") or ()]
    others = [(one, False) for one in subset.get("notReadyAddresses") or ()]
    return [*ready, *others][:_ADDRESSES_MAX]


def _port(port: Any) -> JsonObject:
    made = {"name": port.get("name") or "", "port": port["port"]}
    made["protocol"] = port.get("protocol") or "TCP"
    if port.get("appProtocol"):
        made["appProtocol"] = port["appProtocol"]
    return made


def _endpoint(address: Any, *, is_ready: bool) -> JsonObject:
    made: JsonObject = {"addresses": [address["ip"]], "conditions": {"ready": is_ready}}
    for field in ("hostname", "nodeName", "targetRef"):
        if address.get(field):
            made[field] = thaw(address[field])
    return made


def _slice(endpoints: KubeObject, family: str, ports: list[JsonObject]) -> JsonObject:
    labels = {**endpoints.labels, SERVICE_LABEL: endpoints.name, MANAGED_LABEL: MANAGER}
    annotations = {k: v for k, v in endpoints.annotations.items() if k not in _NOT_COPIED}
    return {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {
            "generateName": f"{endpoints.name}-",
            "namespace": endpoints.namespace,
            "labels": labels,
            "annotations": annotations,
            "ownerReferences": [controller_reference(endpoints)],
        },
        "addressType": family,
        "endpoints": [],
        "ports": ports,
    }


# Acting


class Mirroring(ObjectReconciler):
    """Reconciles the slices of Endpoints."""

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context, "endpoints")
        self.services = context.informers.informer("services")
        self.slices = Slices(context, self.writes)

    async def sync(self, endpoints: KubeObject) -> Result | None:
        """What is deleted takes its slices along by their owner reference."""
        service = self.services.indexer.get(endpoints.key)
        wanted = mirrored(endpoints) if is_mirrored(endpoints, service) else []
        await self.slices.write(endpoints, wanted)
        return None
