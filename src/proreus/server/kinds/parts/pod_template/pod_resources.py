"""Requests and limits of a pod as a whole: which there may be, and how they fit its containers."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from proreus.api import field_error
from proreus.api.json_types import Json
from proreus.api.quota_usage import needs_of_containers
from proreus.api.values import quantity
from proreus.server.kinds.parts.findings import Findings, items
from proreus.server.kinds.parts.resources import HUGE_PAGES, check_amounts, check_name, is_huge_page

_SUPPORTED = ("cpu", HUGE_PAGES, "memory")


def is_supported(name: str) -> bool:
    return name in _SUPPORTED or is_huge_page(name)


def default_pod_resources(spec: Json) -> None:
    """What is not said of the pod follows from its containers, else requests follow limits."""
    resources = spec.get("resources")
    if resources is None:
        return
    requests, limits = resources.get("requests") or {}, dict(resources.get("limits") or {})
    for name, amount in container_totals(spec, "limits").items():
        if is_huge_page(name) and name not in requests:
            limits.setdefault(name, amount)
    if not limits:
        return
    resources["limits"] = limits
    requests = resources["requests"] = dict(requests)
    for name, amount in container_totals(spec, "requests").items():
        if is_supported(name) and not is_huge_page(name):
            requests.setdefault(name, amount)
    for name, amount in limits.items():
        if is_supported(name):
            requests.setdefault(name, amount)


def container_totals(spec: Json, part: str) -> dict[str, str]:
    """What the containers need together, spelled as the first that names a resource spells it."""
    formats: dict[str, quantity.Format] = {}
    for key in ("containers", "initContainers"):
        for container in spec.get(key) or ():
            for name, text in ((container.get("resources") or {}).get(part) or {}).items():
                formats.setdefault(name, quantity.parse(str(text)).format)
    totals: Mapping[str, Fraction] = needs_of_containers(spec, part)
    return {name: str(quantity.from_amount(totals[name], formats[name])) for name in sorted(totals)}


def check_pod_resources(found: Findings, at: str, spec: Json) -> None:
    """``at`` is the pod spec's path."""
    resources, at = spec.get("resources"), f"{at}.resources"
    if resources is None:
        return
    if (spec.get("os") or {}).get("name") == "windows":
        found.forbid(at, "may not be set for a windows pod")
        return
    if resources.get("claims") is not None:
        found.forbid(f"{at}.claims", "claims may not be set for Resources at pod-level")
    check_amounts(found, at, resources, _check_name)
    _check_totals(found, at, spec, resources, "requests")
    _check_totals(found, at, spec, resources, "limits")
    _check_limits(found, at, spec, resources.get("limits") or {})


def _check_name(found: Findings, at: str, name: str) -> None:
    before = len(found)
    check_name(found, at, name)
    if len(found) == before and not is_supported(name):
        found.append(field_error.not_supported(at, name, _SUPPORTED))


def _check_totals(found: Findings, at: str, spec: Json, resources: Json, part: str) -> None:
    """Requests cover those of all containers; so do limits of what cannot be overcommitted."""
    given = resources.get(part) or {}
    for name, total in container_totals(spec, part).items():
        if name not in given or (part == "limits" and not is_huge_page(name)):
            continue
        if quantity.amount(total) > quantity.amount(given[name]):
            why = f"must be greater than or equal to aggregate container {part} of {total}"
            found.invalid(f"{at}.{part}[{name}]", given[name], why)


def _check_limits(found: Findings, at: str, spec: Json, limits: Json) -> None:
    # The container is named below the pod's resources; so does Kubernetes.
    for where, container in items(spec.get("containers"), f"{at}.containers"):
        own = (container.get("resources") or {}).get("limits") or {}
        for name in sorted(own):
            if name in limits and quantity.amount(own[name]) > quantity.amount(limits[name]):
                why = f"must be less than or equal to pod limits of {limits[name]}"
                found.invalid(f"{where}[{name}].limits", own[name], why)
