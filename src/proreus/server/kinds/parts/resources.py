"""Resource names and amounts: requests, limits, quotas, overhead."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from proreus.api.values import names, quantity
from proreus.server.kinds.parts.findings import NOT_NEGATIVE, Findings
from proreus.server.kinds.parts.validation_cache import cache_valid

CheckName = Callable[[Findings, str, str], None]  # the field's path, the resource's name
NOT_INTEGER = "must be an integer"
STANDARD_CONTAINER = frozenset({"cpu", "memory", "ephemeral-storage"})
_STANDARD = STANDARD_CONTAINER | {
    "requests.cpu", "requests.memory", "requests.ephemeral-storage", "limits.cpu",
    "limits.memory", "limits.ephemeral-storage", "pods", "resourcequotas", "services",
    "replicationcontrollers", "secrets", "configmaps", "persistentvolumeclaims", "storage",
    "requests.storage", "services.nodeports", "services.loadbalancers",
}  # fmt: skip
_INTEGER = frozenset(
    {"pods", "resourcequotas", "services", "replicationcontrollers", "secrets", "configmaps",
     "persistentvolumeclaims", "services.nodeports", "services.loadbalancers"}
)  # fmt: skip
QUOTA = _STANDARD - {"storage"}
HUGE_PAGES = "hugepages-"
_NATIVE_DOMAIN = "kubernetes.io/"


def is_huge_page(name: str) -> bool:
    return name.startswith(HUGE_PAGES)


def is_native(name: str) -> bool:
    return "/" not in name or _NATIVE_DOMAIN in name


def is_extended(name: str) -> bool:
    """A resource outside kubernetes.io, counted in whole units."""
    if is_native(name) or name.startswith("requests."):
        return False
    return not names.qualified_name(f"requests.{name}")


def may_overcommit(name: str) -> bool:
    """Whether a request may be smaller than its limit."""
    return is_native(name) and not is_huge_page(name)


def is_integer(name: str) -> bool:
    return name in _INTEGER or is_extended(name)


def check_name(found: Findings, at: str, name: str) -> None:
    if name in _STANDARD:
        return
    problems = names.qualified_name(name)
    for why in problems:
        found.invalid(at, name, why)
    if problems or "/" in name:
        return
    if name not in _STANDARD and not is_huge_page(name) and not _is_quota_huge_page(name):
        found.invalid(at, name, "must be a standard resource type or fully qualified")


def _is_quota_huge_page(name: str) -> bool:
    return name.startswith("requests.hugepages-")


def check_container_name(found: Findings, at: str, name: str) -> None:
    if name in STANDARD_CONTAINER:
        return
    check_name(found, at, name)
    if "/" not in name:
        if not is_huge_page(name):
            found.invalid(at, name, "must be a standard resource for containers")
    elif not is_native(name) and not is_extended(name):
        found.invalid(at, name, "doesn't follow extended resource name standard")


def check_amount(found: Findings, at: str, name: str, value: str) -> None:
    number = quantity.amount(value)
    if number.numerator < 0:
        found.invalid(at, value, NOT_NEGATIVE)
    if number.denominator != 1 and is_integer(name):
        found.invalid(at, value, NOT_INTEGER)


@cache_valid
def check_requirements(found: Findings, at: str, resources: Mapping[str, Any]) -> None:
    """The requests and limits of a container."""
    check_amounts(found, at, resources, check_container_name)


def check_amounts(
    found: Findings, at: str, resources: Mapping[str, Any], check_name: CheckName
) -> None:
    requests, limits = resources.get("requests") or {}, resources.get("limits") or {}
    if not requests and not limits:
        return
    for name in sorted(limits):
        where = f"{at}.limits[{name}]"
        check_name(found, where, name)
        check_amount(found, where, name, limits[name])
        _check_huge_page(found, where, name, limits[name])
    for name in sorted(requests):
        where = f"{at}.requests[{name}]"
        check_name(found, where, name)
        check_amount(found, where, name, requests[name])
        _check_pair(found, f"{at}.requests", name, requests[name], limits.get(name))
        _check_huge_page(found, where, name, requests[name])
    used = {*requests, *limits}
    if any(map(is_huge_page, used)) and not used & {"cpu", "memory"}:
        found.forbid(at, "HugePages require cpu or memory")


def _check_huge_page(found: Findings, at: str, name: str, value: str) -> None:
    if is_huge_page(name) and not _is_divisible(name.removeprefix(HUGE_PAGES), value):
        found.invalid(at, value, f"{value} is not positive integer multiple of {name}")


def _is_divisible(page: str, value: str) -> bool:
    """Whether it is whole pages; a size that is none, or not of whole bytes, divides nothing."""
    try:
        size = quantity.amount(page)
    except quantity.QuantityError:
        return False
    if size <= 0 or size.denominator != 1:
        return False
    return math.ceil(quantity.amount(value)) % size == 0


def _check_pair(found: Findings, at: str, name: str, request: str, limit: str | None) -> None:
    """A request never exceeds its limit; of what cannot be shared it equals it."""
    if limit is None:
        if not may_overcommit(name):
            found.require(
                f"{at.removesuffix('.requests')}.limits",
                None,
                "Limit must be set for non overcommitable resources",
            )
        return
    if request == limit:
        return
    wanted, allowed = quantity.amount(request), quantity.amount(limit)
    if not may_overcommit(name) and wanted != allowed:
        found.invalid(at, request, f"must be equal to {name} limit of {limit}")
    elif wanted > allowed:
        found.invalid(at, request, f"must be less than or equal to {name} limit of {limit}")


def check_overhead(found: Findings, at: str, amounts: Mapping[str, str] | None) -> None:
    """What a runtime costs; Kubernetes reports it as if it were limits."""
    check_requirements(found, at, {"limits": amounts or {}})


def fractional_bytes(amounts: Mapping[str, str] | None) -> list[tuple[str, str]]:
    """Bytes that are no whole number: legal, but worth a warning."""
    return [
        (name, value)
        for name, value in sorted((amounts or {}).items())
        if name in ("memory", "ephemeral-storage", "storage")
        and quantity.amount(value) > 0
        and quantity.amount(value).denominator != 1
    ]
