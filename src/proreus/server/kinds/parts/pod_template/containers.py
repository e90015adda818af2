"""Validation of containers: names, images, ports, and what each part of them asks for."""

from __future__ import annotations

from collections.abc import Mapping

from proreus.api.json_types import Json
from proreus.api.values import names
from proreus.server.kinds.parts.findings import Findings, items
from proreus.server.kinds.parts.pod_template.container_security import check_security_context
from proreus.server.kinds.parts.pod_template.environment import check_env, check_env_from
from proreus.server.kinds.parts.pod_template.mounts import check_devices, check_mounts
from proreus.server.kinds.parts.pod_template.probes import check_lifecycle, check_probes
from proreus.server.kinds.parts.pod_template.restart_rules import check_restarts
from proreus.server.kinds.parts.resources import check_requirements

PROTOCOLS = ("SCTP", "TCP", "UDP")
PULL_POLICIES = ("Always", "IfNotPresent", "Never")
_TERMINATION = ("File", "FallbackToLogsOnError")
_RESIZES = ("NotRequired", "RestartContainer")
_EPHEMERAL = "cannot be set for an Ephemeral Container"
_NOT_EPHEMERAL = ("ports", "resources", "resizePolicy", "restartPolicy", "restartPolicyRules",
                  "livenessProbe", "readinessProbe", "startupProbe", "lifecycle")  # fmt: skip


def check_containers(found: Findings, at: str, spec: Json, volumes: Mapping[str, Json]) -> None:
    """``at`` is the pod spec's path."""
    containers = spec.get("containers") or []
    found.require(f"{at}.containers", containers)
    seen: set[str] = set()
    for where, container in items(containers, f"{at}.containers"):
        check_container(found, where, container, spec, volumes)
        _check_unique(found, where, container, seen)
        check_lifecycle(found, f"{where}.lifecycle", container.get("lifecycle"), spec)
        check_probes(found, where, container)
        check_restarts(found, where, container)
    _check_host_ports(found, f"{at}.containers", containers)
    _check_init_containers(found, at, spec, volumes, seen)
    if spec.get("ephemeralContainers"):
        check_ephemeral_containers(found, at, spec, volumes)


def _check_unique(found: Findings, at: str, container: Json, seen: set[str]) -> None:
    """No name is a name too: the second container without one repeats the first."""
    name = container.get("name") or ""
    if name in seen:
        found.duplicate(f"{at}.name", name)
    seen.add(name)


def check_images_of_pod(found: Findings, at: str, spec: Json) -> None:
    """In a template spaces may stand for an image that is filled in later."""
    for key in ("containers", "initContainers"):
        for index, container in enumerate(spec.get(key) or ()):
            image = container.get("image") or ""
            if image != image.strip():  # hardly ever: not even the path is made
                check_image_of_pod(found, f"{at}.{key}[{index}].image", image)


def check_image_of_pod(found: Findings, at: str, image: str) -> None:
    if image != image.strip():
        found.invalid(at, image, "must not have leading or trailing whitespace")


def check_host_network(found: Findings, at: str, spec: Json) -> None:
    """The ports of a pod on its node's network are the node's; a template need not say so."""
    if not spec.get("hostNetwork"):
        return
    for where, container in items(spec.get("containers"), f"{at}.containers"):
        for place, port in items(container.get("ports"), f"{where}.ports"):
            host_port = port.get("hostPort")
            if host_port and host_port != port.get("containerPort"):
                found.invalid(
                    f"{place}.hostPort",
                    host_port,
                    "must match `containerPort` when `hostNetwork` is true",
                )


def check_ephemeral_containers(
    found: Findings, at: str, spec: Json, volumes: Mapping[str, Json]
) -> None:
    """Those that were added for debugging; they have no part in the pod's work."""
    others = {
        c.get("name") for key in ("containers", "initContainers") for c in spec.get(key) or ()
    }
    seen = set(others)
    for where, container in items(spec.get("ephemeralContainers"), f"{at}.ephemeralContainers"):
        check_container(found, where, container, spec, volumes)
        check_image_of_pod(found, f"{where}.image", container.get("image") or "")
        name, target = container.get("name"), container.get("targetContainerName")
        if name in seen:
            found.duplicate(f"{where}.name", name)
        seen.add(name)
        if target and target not in others:
            found.not_found(f"{where}.targetContainerName", target)
        for key in _NOT_EPHEMERAL:
            if container.get(key):
                found.forbid(f"{where}.{key}", _EPHEMERAL)
        for place, mount in items(container.get("volumeMounts"), f"{where}.volumeMounts"):
            for key in ("subPath", "subPathExpr"):
                if mount.get(key):
                    found.forbid(f"{place}.{key}", _EPHEMERAL)


def _check_init_containers(
    found: Findings, at: str, spec: Json, volumes: Mapping[str, Json], seen: set[str]
) -> None:
    for where, container in items(spec.get("initContainers"), f"{at}.initContainers"):
        check_container(found, where, container, spec, volumes)
        check_restarts(found, where, container)
        if container.get("name") or ("" in seen):
            _check_unique(found, where, container, seen)
        # They run one by one, and Kubernetes names each of them as the first.
        _check_host_ports(found, f"{at}.initContainers", [container])
        if container.get("restartPolicy") == "Always":
            check_lifecycle(found, f"{where}.lifecycle", container.get("lifecycle"), spec)
            check_probes(found, where, container)
            continue
        for key in ("lifecycle", "livenessProbe", "readinessProbe", "startupProbe"):
            if container.get(key) is not None:
                found.forbid(
                    f"{where}.{key}",
                    "may not be set for init containers without restartPolicy=Always",
                )
        for place, policy in items(container.get("resizePolicy"), f"{where}.resizePolicy"):
            if policy.get("restartPolicy") == "RestartContainer":
                found.invalid(
                    f"{place}.restartPolicy",
                    "RestartContainer",
                    "must not be set to 'RestartContainer' for non-sidecar initContainers",
                )


def check_container(
    found: Findings, at: str, container: Json, spec: Json, volumes: Mapping[str, Json]
) -> None:
    name = container.get("name") or ""
    if found.require(f"{at}.name", name):
        found.name(f"{at}.name", name, names.dns_label)
    found.require(f"{at}.image", container.get("image"))
    found.one_of(
        f"{at}.terminationMessagePolicy", container.get("terminationMessagePolicy"), _TERMINATION
    )
    _check_ports(found, f"{at}.ports", container.get("ports"))
    check_env(found, f"{at}.env", container.get("env"))
    check_env_from(found, f"{at}.envFrom", container.get("envFrom"))
    check_mounts(found, f"{at}.volumeMounts", container, volumes)
    check_devices(found, f"{at}.volumeDevices", container, volumes)
    found.one_of(f"{at}.imagePullPolicy", container.get("imagePullPolicy"), PULL_POLICIES)
    check_requirements(found, f"{at}.resources", container.get("resources") or {})
    _check_claims(found, f"{at}.resources.claims", container, spec)
    _check_resize_policy(found, f"{at}.resizePolicy", container.get("resizePolicy"), spec)
    check_security_context(found, f"{at}.securityContext", container.get("securityContext"), spec)


def _check_ports(found: Findings, at: str, ports: list[Json] | None) -> None:
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
        if found.require(f"{where}.protocol", port.get("protocol")):
            found.one_of(f"{where}.protocol", port.get("protocol"), PROTOCOLS)


def _check_host_ports(found: Findings, at: str, containers: list[Json]) -> None:
    seen: set[str] = set()
    if not any(port.get("hostPort") for c in containers for port in c.get("ports") or ()):
        return  # nearly always
    for where, container in items(containers, at):
        for place, port in items(container.get("ports"), f"{where}.ports"):
            if not port.get("hostPort"):
                continue
            key = f"{port.get('protocol')}/{port.get('hostIP') or ''}/{port['hostPort']}"
            if key in seen:
                found.duplicate(f"{place}.hostPort", key)
            seen.add(key)


def _check_claims(found: Findings, at: str, container: Json, spec: Json) -> None:
    claims = (container.get("resources") or {}).get("claims")
    if not claims:
        return
    known = {claim.get("name") or "" for claim in spec.get("resourceClaims") or ()} - {""}
    wanted = "must be one of the names in pod.spec.resourceClaims"
    wanted += ": " + ", ".join(sorted(known)) if known else " which is empty"
    seen: set[str] = set()
    in_part: set[str] = set()  # those of which a request was claimed
    for where, claim in items(claims, at):
        name, request = claim.get("name") or "", claim.get("request") or ""
        if not found.require(where, name):
            continue
        if request and name not in seen:
            found.name(f"{where}.request", request, names.dns_label)
        key = f"{name}/{request}" if request else name
        if name in seen or key in seen:
            found.duplicate(where, name if name in seen else key)
        elif not request and name in in_part:
            found.duplicate(where, name)
        seen.add(key)
        if request:
            in_part.add(name)
        if name not in known:
            found.not_found(where, name, wanted)


def _check_resize_policy(found: Findings, at: str, policies: list[Json] | None, spec: Json) -> None:
    """But for one that is repeated, the messages name the list; so does Kubernetes."""
    seen: set[str] = set()
    for where, entry in items(policies, at):
        name, policy = entry.get("resourceName") or "", entry.get("restartPolicy") or ""
        if name in seen:
            found.duplicate(where, name)
        seen.add(name)
        found.required_one_of(at, name, ("cpu", "memory"))
        found.required_one_of(at, policy, _RESIZES)
        if spec.get("restartPolicy") == "Never" and policy != "NotRequired":
            why = "must be 'NotRequired' when pod `restartPolicy` is 'Never'"
            found.invalid(at, policy, why)
