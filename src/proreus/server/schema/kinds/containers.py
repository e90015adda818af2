"""Validation of containers: names, images, ports, and what each part of them asks for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from proreus.api.values import names
from proreus.server.schema.kinds.container_security import check_security_context
from proreus.server.schema.kinds.environment import check_env, check_env_from
from proreus.server.schema.kinds.findings import Findings, items
from proreus.server.schema.kinds.mounts import check_devices, check_mounts
from proreus.server.schema.kinds.probes import check_lifecycle, check_probes
from proreus.server.schema.kinds.resources import check_requirements

Json = Mapping[str, Any]
PROTOCOLS = ("SCTP", "TCP", "UDP")
PULL_POLICIES = ("Always", "IfNotPresent", "Never")
RESTART_POLICIES = ("Always", "Never", "OnFailure")
_TERMINATION = ("FallbackToLogsOnError", "File")


def check_containers(found: Findings, at: str, spec: Json, volumes: Mapping[str, Json]) -> None:
    """``at`` is the pod spec's path."""
    containers = spec.get("containers") or []
    if not found.require(f"{at}.containers", containers):
        return
    seen: set[str] = set()
    for where, container in items(containers, f"{at}.containers"):
        check_container(found, where, container, spec, volumes)
        if container.get("restartPolicy") is not None:
            found.one_of(f"{where}.restartPolicy", container["restartPolicy"], RESTART_POLICIES)
        check_lifecycle(found, f"{where}.lifecycle", container.get("lifecycle"))
        check_probes(found, where, container)
        _check_unique(found, where, container, seen)
    _check_host_ports(found, f"{at}.containers", containers)
    _check_init_containers(found, at, spec, volumes, seen)


def _check_unique(found: Findings, at: str, container: Json, seen: set[str]) -> None:
    name = container.get("name") or ""
    if name in seen:
        found.duplicate(f"{at}.name", name)
    elif name:
        seen.add(name)


def _check_init_containers(
    found: Findings, at: str, spec: Json, volumes: Mapping[str, Json], seen: set[str]
) -> None:
    for where, container in items(spec.get("initContainers"), f"{at}.initContainers"):
        check_container(found, where, container, spec, volumes)
        policy = container.get("restartPolicy")
        found.one_of(f"{where}.restartPolicy", policy, RESTART_POLICIES)
        _check_unique(found, where, container, seen)
        _check_host_ports(found, where.rpartition("[")[0], [container], where)
        if policy == "Always":
            check_lifecycle(found, f"{where}.lifecycle", container.get("lifecycle"))
            check_probes(found, where, container)
            continue
        for key in ("lifecycle", "livenessProbe", "readinessProbe", "startupProbe"):
            if container.get(key) is not None:
                found.forbid(
                    f"{where}.{key}",
                    "may not be set for init containers without restartPolicy=Always",
                )


def check_container(
    found: Findings, at: str, container: Json, spec: Json, volumes: Mapping[str, Json]
) -> None:
    name = container.get("name") or ""
    if found.require(f"{at}.name", name):
        found.name(f"{at}.name", name, names.dns_label)
    image = container.get("image") or ""
    if image != image.strip():
        found.invalid(f"{at}.image", image, "must not have leading or trailing whitespace")
    else:
        found.require(f"{at}.image", image)
    found.one_of(
        f"{at}.terminationMessagePolicy", container.get("terminationMessagePolicy"), _TERMINATION
    )
    _check_ports(found, f"{at}.ports", container.get("ports"), spec)
    check_env(found, f"{at}.env", container.get("env"))
    check_env_from(found, f"{at}.envFrom", container.get("envFrom"))
    check_mounts(found, f"{at}.volumeMounts", container, volumes)
    check_devices(found, f"{at}.volumeDevices", container, volumes)
    found.one_of(f"{at}.imagePullPolicy", container.get("imagePullPolicy"), PULL_POLICIES)
    _check_claims(found, at, container, spec)
    check_requirements(found, f"{at}.resources", container.get("resources") or {})
    _check_resize_policy(found, f"{at}.resizePolicy", container.get("resizePolicy"))
    check_security_context(found, f"{at}.securityContext", container.get("securityContext"), spec)


def _check_ports(found: Findings, at: str, ports: list[Json] | None, spec: Json) -> None:
    seen: set[str] = set()
    for where, port in items(ports, at):
        if name := port.get("name"):
            if names.port_name(name):
                found.name(f"{where}.name", name, names.port_name)
            else:
                if name in seen:
                    found.duplicate(f"{where}.name", name)
                seen.add(name)
        number = port.get("containerPort") or 0
        if found.require(f"{where}.containerPort", number):
            found.port(f"{where}.containerPort", number)
        if host_port := port.get("hostPort"):
            found.port(f"{where}.hostPort", host_port)
            if spec.get("hostNetwork") and host_port != number:
                found.invalid(
                    f"{where}.hostPort",
                    host_port,
                    "must match `containerPort` when `hostNetwork` is true",
                )
        if found.require(f"{where}.protocol", port.get("protocol")):
            found.one_of(f"{where}.protocol", port.get("protocol"), PROTOCOLS)


def _check_host_ports(
    found: Findings, at: str, containers: list[Json], only: str | None = None
) -> None:
    seen: set[str] = set()
    if not any(port.get("hostPort") for c in containers for port in c.get("ports") or ()):
        return  # nearly always
    for where, container in items(containers, at):
        place = only or where
        for port_at, port in items(container.get("ports"), f"{place}.ports"):
            if not port.get("hostPort"):
                continue
            key = f"{port.get('protocol')}/{port.get('hostIP') or ''}/{port['hostPort']}"
            if key in seen:
                found.duplicate(f"{port_at}.hostPort", key)
            seen.add(key)


def _check_claims(found: Findings, at: str, container: Json, spec: Json) -> None:
    claims = (container.get("resources") or {}).get("claims")
    if not claims:
        return
    known = {claim.get("name") for claim in spec.get("resourceClaims") or ()}
    for where, claim in items(claims, f"{at}.resources.claims"):
        name = claim.get("name") or ""
        if found.require(f"{where}.name", name) and name not in known:
            found.not_found(f"{where}.name", name)


def _check_resize_policy(found: Findings, at: str, policies: list[Json] | None) -> None:
    seen: set[str] = set()
    for where, policy in items(policies, at):
        name = policy.get("resourceName") or ""
        if name in seen:
            found.duplicate(where, name)
        seen.add(name)
        if found.require(where, name):
            found.one_of(where, name, ("cpu", "memory"))
        if found.require(where, policy.get("restartPolicy")):
            found.one_of(where, policy["restartPolicy"], ("NotRequired", "RestartContainer"))
