"""The EndpointSlice controller: addresses of the pods that Services select.

Receives: keys of Services, from their events and those of pods.  Hands on: one slice per hundred
pods, named after the Service, and the older Endpoints object with the same addresses.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType
from typing import Any

from proreus.api.json_types import JsonObject
from proreus.api.object import KubeObject
from proreus.api.selectors.labels import LabelSelector
from proreus.api.status import AlreadyExists
from proreus.client.controller import Controller, Result, Watch
from proreus.client.informer import SharedInformer
from proreus.client.ownership import controller_reference
from proreus.cluster.controllers.context import ControllerContext
from proreus.cluster.controllers.endpoint_slice.slices import (
    MANAGED_LABEL,
    SERVICE_LABEL,
    Slices,
    same,
)
from proreus.cluster.controllers.reconciler import ObjectReconciler
from proreus.cluster.pod_status import is_deleting, is_finished, is_ready

SLICE_MAX = 100
MANAGER = "endpointslice-controller.k8s.io"
_WRITER = "endpoint-controller"
_HEADLESS = "service.kubernetes.io/headless"
_ENDPOINTS_MAX = 1000
_ZONE = "topology.kubernetes.io/zone"
_SAME_NODE = "PreferSameNode"
_NEAR = ("PreferClose", "PreferSameZone", _SAME_NODE)
_NOWHERE: Mapping[str, str] = MappingProxyType({})


def endpoint_slice_controller(context: ControllerContext) -> Controller:
    services = EndpointSlices(context)
    # Nodes bring no work: their zones must only be known when it begins, and they keep them.
    nodes = Watch(services.nodes, lambda node: [], when=lambda notification: False)
    watches = [Watch(services.pods, services.keys_of_pod), nodes]
    return services.controller("endpointslice", owns=[services.slices.informer], watches=watches)


# Decisions


def is_listed(pod: KubeObject) -> bool:
    """Whether a pod has an address and has not terminated."""
    return bool((pod.get("status") or {}).get("podIP")) and not is_finished(pod)


def endpoint(pod: KubeObject, *, publish_unready: bool, zone: str = "") -> JsonObject:
    """``zone``: of its node."""
    serving = is_ready(pod)
    found: JsonObject = {
        "addresses": [pod.status.podIP],
        "conditions": {
            "ready": publish_unready or (serving and not is_deleting(pod)),
            "serving": serving,
            "terminating": is_deleting(pod),
        },
        "targetRef": {
            "kind": "Pod", "name": pod.name, "namespace": pod.namespace, "uid": pod.uid,
        },
    }  # fmt: skip
    if pod.spec.nodeName:
        found["nodeName"] = pod.spec.nodeName
    if zone:
        found["zone"] = zone
    return found


def hints(service: KubeObject, made: JsonObject) -> JsonObject | None:
    """For whom the endpoint is meant first, by the Service's ``trafficDistribution``."""
    near = service.spec.trafficDistribution
    if near not in _NEAR or not made["conditions"]["ready"]:
        return None
    found: JsonObject = {}
    if zone := made.get("zone"):
        found["forZones"] = [{"name": zone}]
    if near == _SAME_NODE and (node := made.get("nodeName")):
        found["forNodes"] = [{"name": node}]
    return found or None


def ports(service: KubeObject, pod: KubeObject | None) -> list[JsonObject]:
    """The ports of a Service as its pods have them; a name is looked up in the pod."""
    found: list[JsonObject] = []
    for port in service.spec.ports or ():
        number = _target(port, pod)
        if number is None:
            continue
        made: JsonObject = {"protocol": port.get("protocol") or "TCP", "port": number}
        made["name"] = port.get("name") or ""
        if port.get("appProtocol"):
            made["appProtocol"] = port["appProtocol"]
        found.append(made)
    return found


def _target(port: Any, pod: KubeObject | None) -> int | None:
    target = port.get("targetPort", port.get("port"))
    if not isinstance(target, str):
        return int(target)
    for container in pod.spec.containers if pod is not None else ():
        for one in container.get("ports") or ():
            if one.get("name") == target and one.get("protocol", "TCP") == port.get("protocol"):
                return int(one["containerPort"])
    return None


def slices_of(
    service: KubeObject, pods: Sequence[KubeObject], zones: Mapping[str, str] = _NOWHERE
) -> list[JsonObject]:
    """What the slices should hold: pods by the ports they have, a hundred at a time. A Service
    without pods has one empty slice, so that clients see that it was processed. ``zones``: of
    nodes, by name."""
    publish = bool(service.spec.publishNotReadyAddresses)
    by_ports: list[tuple[list[JsonObject], list[JsonObject]]] = []
    for pod in sorted((pod for pod in pods if is_listed(pod)), key=lambda pod: pod.name):
        own = ports(service, pod)
        group = next((found for known, found in by_ports if known == own), None)
        if group is None:
            group = []
            by_ports.append((own, group))
        zone = zones.get(pod.spec.nodeName or "", "")
        made = endpoint(pod, publish_unready=publish, zone=zone)
        if (meant := hints(service, made)) is not None:
            made["hints"] = meant
        if pod.spec.hostname and pod.spec.subdomain == service.name:
            made["hostname"] = pod.spec.hostname  # it has a name of its own in this Service
        group.append(made)
    slices = [
        _slice(service, own, group[start : start + SLICE_MAX])
        for own, group in by_ports
        for start in range(0, len(group), SLICE_MAX)
    ]
    return slices or [_slice(service, ports(service, None), [])]


def _labels(service: KubeObject) -> dict[str, str]:
    """The Service's own. One without an address is told from others, as no proxy serves it."""
    labels = {key: value for key, value in service.labels.items() if key != _HEADLESS}
    return {**labels, _HEADLESS: ""} if service.spec.clusterIP == "None" else labels


def _slice(service: KubeObject, own: list[JsonObject], endpoints: list[JsonObject]) -> JsonObject:
    labels = {**_labels(service), SERVICE_LABEL: service.name, MANAGED_LABEL: MANAGER}
    families = service.spec.ipFamilies or ("IPv4",)
    return {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {
            "generateName": f"{service.name}-",
            "namespace": service.namespace,
            "labels": labels,
            "ownerReferences": [controller_reference(service)],
        },
        "addressType": families[0],
        "endpoints": endpoints,
        "ports": own,
    }


def endpoints_of(service: KubeObject, slices: Sequence[JsonObject]) -> JsonObject:
    """The same as an Endpoints object: ready addresses and others apart, per set of ports."""
    subsets: list[JsonObject] = []
    room = _ENDPOINTS_MAX
    for one in slices:
        subset: JsonObject = {}
        for made in one["endpoints"][:room]:
            is_open = made["conditions"]["ready"]
            if made["conditions"]["terminating"] and not is_open:
                continue
            kind = "addresses" if is_open else "notReadyAddresses"
            address = {"ip": made["addresses"][0], "targetRef": made["targetRef"]}
            address |= {field: made[field] for field in ("hostname", "nodeName") if field in made}
            subset.setdefault(kind, []).append(address)
            room -= 1
        if subset:
            named = [{k: v for k, v in port.items() if v != ""} for port in one["ports"]]
            subsets.append({**subset, "ports": named})
    return {
        "apiVersion": "v1",
        "kind": "Endpoints",
        "metadata": {
            "name": service.name,
            "namespace": service.namespace,
            "labels": {**_labels(service), "endpoints.kubernetes.io/managed-by": _WRITER},
            "ownerReferences": [controller_reference(service)],
        },
        "subsets": subsets,
    }


# Acting


class EndpointSlices(ObjectReconciler):
    """Reconciles the slices and Endpoints of Services."""

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context, "services")
        self.pods = context.owned_informer("pods")
        self.nodes: SharedInformer = context.informers.informer("nodes")
        self.endpoints: SharedInformer = context.informers.informer("endpoints")
        # In Kubernetes Endpoints are written by a controller of their own.
        self._endpoints_api = context.client_of(_WRITER).core_v1.endpoints
        self.slices = Slices(context, self.writes)

    def keys_of_pod(self, pod: KubeObject) -> list[str]:
        return [
            service.key
            for service in self.informer.lister.list(namespace=pod.namespace)
            if (selector := _selector(service)) is not None and selector.matches(pod.labels)
        ]

    async def sync(self, service: KubeObject) -> Result | None:
        selector = _selector(service)
        if selector is None or is_deleting(service) or service.spec.type == "ExternalName":
            return None
        there = self.pods.lister.list(namespace=service.namespace)
        pods = [pod for pod in there if selector.matches(pod.labels)]
        wanted = slices_of(service, pods, self._zones(pods))
        await self.slices.write(service, wanted)
        await self._write_endpoints(service, endpoints_of(service, wanted))
        return None

    def _zones(self, pods: Sequence[KubeObject]) -> dict[str, str]:
        """Of the nodes that the pods are on."""
        names = {pod.spec.nodeName for pod in pods if pod.spec.nodeName}
        nodes = [self.nodes.indexer.get(name) for name in names]
        return {node.name: node.labels[_ZONE] for node in nodes if node and node.labels.get(_ZONE)}

    async def _write_endpoints(self, service: KubeObject, wanted: JsonObject) -> None:
        api = self._endpoints_api(service.namespace)
        present = self.endpoints.indexer.get(service.key)
        if present is None:
            with contextlib.suppress(AlreadyExists):
                await api.create(wanted)
        elif not same(present, wanted, "subsets"):
            metadata = {**present.to_dict()["metadata"], "labels": wanted["metadata"]["labels"]}
            await api.replace({**wanted, "metadata": metadata})


@lru_cache(maxsize=1024)
def _selector(service: KubeObject) -> LabelSelector | None:
    """None: its addresses are managed by its users. Every change of a pod asks all services."""
    wanted = service.spec.selector
    return LabelSelector.from_object({"matchLabels": dict(wanted)}) if wanted else None
