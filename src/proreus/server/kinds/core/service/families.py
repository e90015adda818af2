"""Address families of services, on a server that has one: IPv4.

Kubernetes checks them before everything else about a service, when it looks for an address; so
a service that fails here gets no other errors.
"""

from __future__ import annotations

from proreus.api.json_types import Json, JsonObject
from proreus.api.values import names
from proreus.server.kinds.parts.findings import Findings, items, repeats

HEADLESS = "None"
_SERVED = "IPv4"
_FAMILIES = ("IPv4", "IPv6")
_POLICIES = ("PreferDualStack", "RequireDualStack", "SingleStack")


def is_headless(spec: Json) -> bool:
    return spec.get("clusterIP") == HEADLESS or (spec.get("clusterIPs") or [""])[0] == HEADLESS


def choose_families(spec: JsonObject) -> None:
    """Fill in what follows from the rest; the service needs a cluster address."""
    families = spec.setdefault("ipFamilies", [])
    if _is_unselected(spec):
        # The families of what is behind it are unknown, so both are allowed even here.
        spec.setdefault("ipFamilyPolicy", "RequireDualStack")
        if not families:
            families.append(_SERVED)
        if len(families) == 1 and spec["ipFamilyPolicy"] != "SingleStack":
            families.append("IPv6" if families[0] == "IPv4" else "IPv4")
        return
    if len(families) == 2 or len(spec.get("clusterIPs") or ()) == 2:
        spec.setdefault("ipFamilyPolicy", "RequireDualStack")
    spec.setdefault("ipFamilyPolicy", "SingleStack")
    if not families and all(_family(ip) == _SERVED for ip in spec.get("clusterIPs") or ()):
        families.append(_SERVED)


def check_families(found: Findings, spec: Json) -> None:
    """Of all types but ExternalName, which has no addresses."""
    _check_sync(found, spec)
    families = spec.get("ipFamilies") or []
    for where, family, is_repeated in repeats(families, "spec.ipFamilies"):
        found.one_of(where, family, _FAMILIES)
        if is_repeated:
            found.duplicate(where, family)
    found.one_of("spec.ipFamilyPolicy", spec.get("ipFamilyPolicy"), _POLICIES)
    _check_addresses(found, spec.get("clusterIPs") or [], families)
    if not found and not _is_unselected(spec):
        _check_served(found, spec)


def _is_unselected(spec: Json) -> bool:
    return is_headless(spec) and not spec.get("selector")


def _check_sync(found: Findings, spec: Json) -> None:
    first, addresses = spec.get("clusterIP") or "", spec.get("clusterIPs") or []
    if first:
        if found.require("spec.clusterIPs", addresses) and addresses[0] != first:
            found.invalid("spec.clusterIPs", addresses, "first value must match `clusterIP`")
    elif addresses:
        why = "must be empty when `clusterIP` is not specified"
        found.invalid("spec.clusterIPs", addresses, why)


def _check_addresses(found: Findings, addresses: list[str], families: list[str]) -> None:
    at, before = "spec.clusterIPs", len(found)
    for index, (where, address) in enumerate(items(addresses, at)):
        if index == 0 and address == HEADLESS:
            if len(addresses) > 1:
                found.invalid(at, addresses, "'None' must be the first and only value")
            continue
        found.name(where, address, names.ip_address)
    has_bad_ones = len(found) > before
    if len(addresses) > 2:
        found.invalid(at, addresses, "may only hold up to 2 values")
    if has_bad_ones:
        return
    if len(addresses) > 1 and {_family(address) for address in addresses} != set(_FAMILIES):
        found.invalid(at, addresses, "may specify no more than one IP for each IP family")
    for index, (address, family) in enumerate(zip(addresses, families, strict=False)):
        if address != HEADLESS and family in _FAMILIES and _family(address) != family:
            why = f"expected an {family} value as indicated by `ipFamilies[{index}]`"
            found.invalid(f"{at}[{index}]", address, why)


def _check_served(found: Findings, spec: Json) -> None:
    if spec.get("ipFamilyPolicy") == "RequireDualStack":
        why = "this cluster is not configured for dual-stack services"
        found.invalid("spec.ipFamilyPolicy", "RequireDualStack", why)
    families, addresses = spec.get("ipFamilies") or [], spec.get("clusterIPs") or []
    for index, address in enumerate(addresses[len(families) :], len(families)):
        if address != HEADLESS and _family(address) != _SERVED:
            why = f"{_family(address)} is not configured on this cluster"
            found.invalid(f"spec.clusterIPs[{index}]", addresses, why)
    for where, family in items(families, "spec.ipFamilies"):
        if family != _SERVED:
            found.invalid(where, family, "not configured on this cluster")


def _family(address: str) -> str:
    return "IPv6" if ":" in address else "IPv4"
