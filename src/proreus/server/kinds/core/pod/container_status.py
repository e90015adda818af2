"""What the status of a pod says of its containers: their users and the health of their devices."""

from __future__ import annotations

from proreus.api.json_types import Json
from proreus.server.kinds.parts.findings import Findings, items

_ID_MAX = 2**31 - 1
_LISTS = {
    "containerStatuses": "containers",
    "initContainerStatuses": "initContainers",
    "ephemeralContainerStatuses": "",
}
_HEALTH = ("Healthy", "Unhealthy", "Unknown")


def check_containers(found: Findings, status: Json, spec: Json) -> None:
    system = (spec.get("os") or {}).get("name") or "linux"
    for key in _LISTS:
        for where, entry in items(status.get(key), f"status.{key}"):
            if (user := (entry.get("user") or {}).get("linux")) is not None:
                _check_user(found, f"{where}.linux", user, system)
    for key, containers in _LISTS.items():
        for where, entry in items(status.get(key), f"status.{key}"):
            if not (devices := entry.get("allocatedResourcesStatus")):
                continue  # nearly always
            at = f"{where}.allocatedResourcesStatus"
            if not containers:
                found.forbid(at, "must not be specified in container status")
                continue
            declared = {c.get("name"): c for c in spec.get(containers) or ()}
            for place, device in items(devices, at):
                _check_device(found, place, device, declared.get(entry.get("name")))


def _check_user(found: Findings, at: str, user: Json, system: str) -> None:
    if system == "windows":
        found.forbid(at, "cannot be set for a windows pod")
        return
    for key in ("uid", "gid"):
        found.between(f"{at}.{key}", user.get(key) or 0, 0, _ID_MAX)
    for where, group in items(user.get("supplementalGroups"), f"{at}.supplementalGroups"):
        found.between(where, group, 0, _ID_MAX)


def _check_device(found: Findings, at: str, device: Json, container: Json | None) -> None:
    """A container that is not of the pod has no devices that could be wrong."""
    name = device.get("name") or ""
    if container is not None:
        resources = container.get("resources") or {}
        known = set(resources.get("requests") or ())
        why = "must match one of the container's resource requests"
        if name.startswith("claim:"):
            known = {_claim_name(claim) for claim in resources.get("claims") or ()}
            why = (
                "must match one of the container's resource claims in a format "
                "'claim:<claimName>/<request>' or 'claim:<claimName>' if request is empty"
            )
        if name not in known:
            found.invalid(f"{at}.name", name, why)
    seen: set[str] = set()
    for where, health in items(device.get("resources"), f"{at}.resources"):
        found.one_of(f"{where}.health", health.get("health") or "", _HEALTH)
        identity = health.get("resourceID") or ""
        if identity in seen:
            found.duplicate(f"{where}.resourceID", identity)
        seen.add(identity)


def _claim_name(claim: Json) -> str:
    name, request = claim.get("name") or "", claim.get("request")
    return f"claim:{name}/{request}" if request else f"claim:{name}"
