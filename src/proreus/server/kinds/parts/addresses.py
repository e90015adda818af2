"""IP addresses that may be endpoints of a service."""

from __future__ import annotations

from proreus.api.json_types import Json
from proreus.api.values import names
from proreus.server.kinds.parts.findings import Findings


def address_warnings(at: str, text: str) -> list[str]:
    """Of an address that was found valid: another spelling than the usual one is not the same to
    clients that compare texts."""
    address = names.parse_ip(text) if ":" in text else None  # IPv4 has one spelling
    if address is None or str(address) == text:
        return []
    why = f'IPv6 address "{text}" should be in RFC 5952 canonical format ("{address}")'
    return [f"{at}: {why}"]


def network_warnings(at: str, text: str) -> list[str]:
    network = names.parse_cidr(text) if ":" in text else None
    if network is None or str(network) == text:
        return []
    why = f'IPv6 CIDR value "{text}" should be in RFC 5952 canonical format ("{network}")'
    return [f"{at}: {why}"]


def check_endpoint_ip(found: Findings, at: str, text: str, target: Json | None) -> None:
    """Kubernetes refuses loopback addresses of any endpoint. Here a pod may have one: where nodes
    are on this machine alone, those of processes and of its own network are none other."""
    address = names.parse_ip(text)
    if not (address is not None and address.is_loopback and (target or {}).get("kind") == "Pod"):
        check_non_special_ip(found, at, text)


def check_non_special_ip(found: Findings, at: str, text: str) -> None:
    """Neither the node itself nor a whole network."""
    address = names.parse_ip(text)
    if address is None:
        found.invalid(at, text, "must be a valid IP address")
        return
    if address.is_unspecified:
        found.invalid(at, text, f"may not be unspecified ({text})")
    if address.is_loopback:
        found.invalid(at, text, "may not be in the loopback range (127.0.0.0/8, ::1/128)")
    if address.is_link_local:
        found.invalid(at, text, "may not be in the link-local range (169.254.0.0/16, fe80::/10)")
    start = address.packed
    if start[:3] == b"\xe0\0\0" if address.version == 4 else start[0] == 255 and start[1] & 15 == 2:
        found.invalid(
            at, text, "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)"
        )
