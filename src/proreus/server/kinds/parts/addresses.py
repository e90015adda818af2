"""IP addresses that may be endpoints of a service."""

from __future__ import annotations

from ipaddress import ip_network

from proreus.api.json_types import Json
from proreus.api.values import names
from proreus.server.kinds.parts.findings import Findings

# Of nodes whose containers are processes (``cluster/kubelet/machine``).
_PROCESS_PODS = (ip_network("127.64.0.0/10"), ip_network("127.128.0.0/10"))


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
    """Kubernetes refuses loopback addresses of any endpoint. Here a pod that is a process of this
    machine has one, of those that no other program listens on by default."""
    address = names.parse_ip(text)
    is_pod = (target or {}).get("kind") == "Pod"
    if not (is_pod and address is not None and any(address in one for one in _PROCESS_PODS)):
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
