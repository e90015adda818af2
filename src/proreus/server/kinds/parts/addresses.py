"""IP addresses that may be endpoints of a service."""

from __future__ import annotations

from proreus.api.values import names
from proreus.server.kinds.parts.findings import Findings


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
    multicast = str(address).startswith(("224.0.0.", "ff02:"))
    if multicast:
        found.invalid(
            at, text, "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)"
        )
