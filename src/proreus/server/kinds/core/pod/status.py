"""Validation of the status of a pod: conditions, addresses, containers that have ended."""

from __future__ import annotations

from proreus.api.field_error import FieldError
from proreus.api.json_types import Json, JsonObject
from proreus.api.values import names
from proreus.server.kinds.core.pod.container_status import check_containers
from proreus.server.kinds.parts.addresses import address_warnings
from proreus.server.kinds.parts.findings import Findings, items
from proreus.server.kinds.parts.pod_template.pod_annotations import (
    check_kept_annotations,
    check_pod_annotations,
)

_STAYS_ENDED = "may not be transitioned to non-terminated state"


def validate_status(new: JsonObject, old: JsonObject) -> list[FieldError]:
    found = Findings()
    status, before = new.get("status") or {}, old.get("status") or {}
    check_kept_annotations(found, new, old)
    annotations = new["metadata"].get("annotations") or {}
    check_pod_annotations(found, "metadata.annotations", annotations, new["spec"])
    for where, condition in items(status.get("conditions"), "status.conditions"):
        found.name(f"{where}.Type", condition.get("type") or "", names.qualified_name)
    nominated = status.get("nominatedNodeName")
    if nominated and nominated != before.get("nominatedNodeName"):
        found.name("status.nominatedNodeName", nominated)
    found.unchanged(status, before, "qosClass", at="status.")
    for key, containers in (
        ("containerStatuses", "containers"),
        ("initContainerStatuses", "initContainers"),
        ("ephemeralContainerStatuses", ""),
    ):
        _check_ended(found, f"status.{key}", status.get(key), before.get(key), old, containers)
    _check_claims(found, "status.resourceClaimStatuses", status, new["spec"])
    _check_addresses(found, "status.podIPs", status.get("podIPs"))
    _check_host_addresses(found, status)
    check_containers(found, status, new["spec"])
    return found


def status_warnings(pod: JsonObject) -> list[str]:
    status = pod.get("status") or {}
    return [
        text
        for key in ("podIPs", "hostIPs")
        for where, entry in items(status.get(key), f"status.{key}")
        for text in address_warnings(f"{where}.ip", entry.get("ip") or "")
    ]


def _check_ended(
    found: Findings,
    at: str,
    now: list[Json] | None,
    then: list[Json] | None,
    pod: Json,
    containers: str,
) -> None:
    """A container that is not to be started again does not come back."""
    if not then:
        return  # nearly always
    spec = pod["spec"]
    declared = {c.get("name"): c for c in spec.get(containers) or ()}
    reported = {entry.get("name"): entry for entry in now or ()}
    for where, entry in items(then, at):
        ended = (entry.get("state") or {}).get("terminated")
        container = declared.get(entry.get("name")) or {}
        policy = "Never"  # containers for debugging are never started again
        if containers:
            policy = container.get("restartPolicy") or spec.get("restartPolicy") or "Always"
        if ended is None or policy == "Always" or container.get("restartPolicyRules"):
            continue
        if policy == "OnFailure" and ended.get("exitCode"):
            continue
        fresh = reported.get(entry.get("name"))
        if fresh is not None and (fresh.get("state") or {}).get("terminated") is None:
            found.forbid(f"{where}.state", _STAYS_ENDED)


def _check_claims(found: Findings, at: str, status: Json, spec: Json) -> None:
    known = {claim.get("name") for claim in spec.get("resourceClaims") or ()}
    seen: set[str] = set()
    for where, entry in items(status.get("resourceClaimStatuses"), at):
        name = entry.get("name") or ""
        if name not in known:
            why = "must match the name of an entry in `spec.resourceClaims`"
            found.invalid(f"{where}.name", name, why)
        if name in seen:
            found.duplicate(f"{where}.name", name)
        seen.add(name)
        found.name(f"{where}.name", entry.get("resourceClaimName"))


def _check_addresses(found: Findings, at: str, entries: list[Json] | None) -> None:
    """One address of each family."""
    texts = [entry.get("ip") or "" for entry in entries or ()]
    for where, text in items(texts, at):
        found.name(where, text, names.ip_address)
    if len(texts) < 2:
        return
    _check_one_of_each(found, at, texts)
    found.unique(at, _go_form(texts))


def _check_host_addresses(found: Findings, status: Json) -> None:
    at = "status.hostIPs"
    texts = [entry.get("ip") or "" for entry in status.get("hostIPs") or ()]
    if not texts:
        return
    if texts[0] != (status.get("hostIP") or ""):
        found.invalid(f"{at}[0].ip", texts[0], "must be equal to `hostIP`")
    for where, text in items(texts, at):
        found.name(where, text, names.ip_address)
    if len(texts) > 1:
        found.unique(at, _go_form(texts))
        _check_one_of_each(found, at, texts)


def _check_one_of_each(found: Findings, at: str, texts: list[str]) -> None:
    parsed = [address for text in texts if (address := names.parse_ip(text))]
    if len(parsed) == len(texts) and (len(texts) > 2 or parsed[0].version == parsed[1].version):
        found.invalid(at, _go_form(texts), "may specify no more than one IP for each IP family")


def _go_form(texts: list[str]) -> list[Json]:
    return [{"IP": text} for text in texts]
