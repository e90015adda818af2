"""A pod's spec, decoded for runtimes. Pure."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from proreus.api.json_types import Json
from proreus.api.object import KubeObject, plain_field
from proreus.cluster.kubelet.runtimes.restart_policy import (
    ALWAYS,
    NEVER,
    is_sidecar,
    restart_policy,
)

_GRACE_S = 30.0


class ContainerSpec(msgspec.Struct, frozen=True, gc=False):
    name: str
    image: str
    restart_policy: str
    is_init: bool
    is_sidecar: bool
    content: Json

    def port(self, wanted: int | str) -> int | None:
        """A port by number or by name."""
        if isinstance(wanted, int) or wanted.isdecimal():
            return int(wanted)
        for port in self.content.get("ports") or ():
            if port.get("name") == wanted:
                return int(port["containerPort"])
        return None


class PodSpec(msgspec.Struct, frozen=True, gc=False):
    """``content``: metadata, spec and status, as plain JSON that must not be changed.
    ``ephemeral``: containers that were added to the pod while it ran, each of which runs once."""

    uid: str
    namespace: str
    name: str
    grace_s: float
    active_deadline_s: float | None
    init: tuple[ContainerSpec, ...]
    containers: tuple[ContainerSpec, ...]
    ephemeral: tuple[ContainerSpec, ...]
    content: Json

    @property
    def spec(self) -> Json:
        found: Json = self.content["spec"]
        return found

    @property
    def full_name(self) -> str:
        return f"{self.name}_{self.namespace}({self.uid})"

    def all(self) -> Iterator[ContainerSpec]:
        yield from self.init
        yield from self.containers
        yield from self.ephemeral

    def container(self, name: str) -> ContainerSpec:
        return next(found for found in self.all() if found.name == name)


def read_pod(pod: KubeObject) -> PodSpec:
    content = {name: plain_field(pod, name) for name in ("metadata", "spec", "status")}
    spec = content["spec"]
    policy = spec.get("restartPolicy") or ALWAYS
    grace_s, deadline_s = spec.get("terminationGracePeriodSeconds"), "activeDeadlineSeconds"
    return PodSpec(
        uid=pod.uid,
        namespace=pod.namespace,
        name=pod.name,
        grace_s=float(grace_s) if grace_s is not None else _GRACE_S,
        active_deadline_s=float(spec[deadline_s]) if spec.get(deadline_s) is not None else None,
        init=tuple(_container(c, policy, is_init=True) for c in spec.get("initContainers") or ()),
        containers=tuple(_container(c, policy) for c in spec.get("containers") or ()),
        ephemeral=tuple(_container(c, NEVER) for c in spec.get("ephemeralContainers") or ()),
        content=content,
    )


def user_refusal(pod: PodSpec, container: ContainerSpec, uid: int) -> str:
    """Why a container may not run as ``uid``, which is the only user there is; empty: it may."""
    security = {
        **(pod.spec.get("securityContext") or {}),
        **(container.content.get("securityContext") or {}),
    }
    wanted = security.get("runAsUser")
    if wanted is not None and wanted != uid:
        return f"the process runtime runs containers as user {uid}, not as {wanted}"
    if security.get("runAsNonRoot") and uid == 0:
        return "container has runAsNonRoot and the process runtime runs as root"
    return ""


def _container(content: Json, pod_policy: str, *, is_init: bool = False) -> ContainerSpec:
    return ContainerSpec(
        name=content["name"],
        image=content.get("image") or "",
        restart_policy=restart_policy(content, pod_policy, is_init=is_init),
        is_init=is_init,
        is_sidecar=is_sidecar(content, is_init=is_init),
        content=content,
    )
