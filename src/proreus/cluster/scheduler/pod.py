"""A pod as the scheduler sees it: read once, looked at once per node."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec

from proreus.api.json_types import Json, JsonObject
from proreus.api.object import KubeObject, plain_field
from proreus.cluster.scheduler import resources
from proreus.cluster.volumes.pod_claims import may_have_claims

if TYPE_CHECKING:
    from proreus.cluster.scheduler.pod_volumes import PodVolumes

_PROTOCOL, _ANY_ADDRESS = "TCP", "0.0.0.0"
# What a container without requests counts for when nodes are compared (not when filtered).
_SUPPOSED = {resources.CPU: 100, resources.MEMORY: 200 * 1024 * 1024}
# Of every pod in the cluster this much is kept; most have but tolerations.
_KEPT = (
    "affinity",
    "nodeSelector",
    "os",
    "preemptionPolicy",
    "tolerations",
    "topologySpreadConstraints",
)


@dataclass(frozen=True, slots=True)
class HostPort:
    address: str
    protocol: str
    port: int

    def collides_with(self, other: HostPort) -> bool:
        return (
            self.port == other.port
            and self.protocol == other.protocol
            and (self.address == other.address or _ANY_ADDRESS in (self.address, other.address))
        )


class PodView(msgspec.Struct, frozen=True, gc=False):
    """``spec``: what of it decides where the pod may run, beside the fields that are read here."""

    key: str
    uid: str
    namespace: str
    name: str
    node_name: str
    priority: int
    labels: Mapping[str, str]
    requests: Mapping[str, int]
    nonzero_requests: Mapping[str, int]
    host_ports: tuple[HostPort, ...]
    spec: Json
    owner_uid: str
    is_deleting: bool = False  # being deleted: it still holds its room
    started: str = ""  # RFC 3339, as the kubelet says; empty if it has not
    resource_version: str = ""  # of the state that was read
    volumes: PodVolumes | None = None  # of its claims, while it is being placed

    @classmethod
    def read(cls, pod: KubeObject, *, is_changed: bool = False) -> PodView:
        """``is_changed``: its spec is not the one it began with, so it may be being resized."""
        spec = plain_field(pod, "spec")
        status = plain_field(pod, "status") if is_changed else None
        requests = resources.requests_of(spec, status)
        return cls(
            key=pod.key,
            uid=pod.uid,
            namespace=pod.namespace,
            name=pod.name,
            node_name=spec.get("nodeName") or "",
            priority=spec.get("priority") or 0,
            labels=dict(pod.labels),
            requests=requests,
            nonzero_requests={**_SUPPOSED, **requests},
            host_ports=_host_ports(spec),
            spec=_kept(pod, spec),
            owner_uid=pod.controller_uid,
            is_deleting=bool(plain_field(pod, "metadata").get("deletionTimestamp")),
            started=plain_field(pod, "status").get("startTime") or "",
            resource_version=pod.resource_version,
        )

    @property
    def tolerations(self) -> list[Json]:
        return self.spec.get("tolerations") or []

    @property
    def may_preempt(self) -> bool:
        return bool(self.spec.get("preemptionPolicy") != "Never")

    @property
    def is_preferring(self) -> bool:
        """Whether it would like other pods near, or away."""
        affinity = self.spec.get("affinity") or {}
        kinds = (affinity.get("podAffinity") or {}, affinity.get("podAntiAffinity") or {})
        return any(kind.get("preferredDuringSchedulingIgnoredDuringExecution") for kind in kinds)

    @property
    def is_repelling(self) -> bool:
        """Whether other pods may be refused because this one is near."""
        affinity = (self.spec.get("affinity") or {}).get("podAntiAffinity") or {}
        return bool(affinity.get("requiredDuringSchedulingIgnoredDuringExecution"))


def _kept(pod: KubeObject, spec: Json) -> JsonObject:
    kept = {field: value for field in _KEPT if (value := spec.get(field))}
    return {**kept, "volumes": spec.get("volumes")} if may_have_claims(pod) else kept


def _sidecars(spec: Json) -> list[Json]:
    init = spec.get("initContainers") or ()
    return [container for container in init if container.get("restartPolicy") == "Always"]


def _host_ports(spec: Json) -> tuple[HostPort, ...]:
    return tuple(
        HostPort(
            port.get("hostIP") or _ANY_ADDRESS, port.get("protocol") or _PROTOCOL, port["hostPort"]
        )
        for container in (*(spec.get("containers") or ()), *_sidecars(spec))
        for port in container.get("ports") or ()
        if port.get("hostPort")
    )
