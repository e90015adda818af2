"""What Go's parsers say of a text that is no address, range of addresses or version."""

from __future__ import annotations

import ipaddress
import re

from proreus.api.field_error import quote

_RANGE = "network address parse error during conversion from string: "


def address_fault(text: str) -> str:
    """Of a text that ``ip`` does not take."""
    if why := _parse_fault(text):
        return f"IP Address {quote(text)} parse error during conversion from string: {why}"
    if "%" in text:
        return f"IP address {quote(text)} with zone value is not allowed"
    return f"IPv4-mapped IPv6 address {quote(text)} is not allowed"


def range_fault(text: str) -> str:
    """Of a text that ``cidr`` does not take. Kubernetes writes the beginning twice."""
    address, slash, bits = text.rpartition("/")
    why = _parse_fault(address)
    if not slash:
        why = "no '/'"
    elif not why and (not re.fullmatch(r"0|[1-9][0-9]{0,2}", bits)):
        why = f"bad bits after slash: {quote(bits)}"
    elif not why and int(bits) > (128 if ":" in address else 32):
        why = "prefix length out of range"
    if why:
        return f"{_RANGE}{_RANGE}netip.ParsePrefix({quote(text)}): {why}"
    return f"{_RANGE}IPv4-mapped IPv6 address {quote(address)} is not allowed"


def _parse_fault(text: str) -> str:
    """As ``netip.ParseAddr``, "" for an address."""
    try:
        ipaddress.ip_address(text)
    except ValueError:
        why = _v4_fault(text) if re.match(r"[^.:%]*\.", text) else "unable to parse IP"
        return f"ParseAddr({quote(text)}): {why}"
    return ""


def _v4_fault(text: str) -> str:
    for at, part in enumerate(text.split(".")):
        if odd := re.search(r"[^0-9]", part):
            rest = text[text.index(part) + odd.start() :]
            return f"unexpected character (at {quote(rest)})"
        if at > 3:
            return "IPv4 address too long"
        if not part:
            return "IPv4 field must have at least one digit"
        if len(part) > 1 and part.startswith("0"):
            return "IPv4 field has octet with leading zero"
        if int(part) > 255:
            return "IPv4 field has value >255"
    return "IPv4 address too short"


def version_fault(text: str) -> str:
    """Of a text that ``semver`` does not take."""
    if not text:
        return "Version string empty"
    parts = text.split(".", 2)
    if len(parts) < 3:
        return "No Major.Minor.Patch elements found"
    parts[2] = re.split(r"[-+]", parts[2], maxsplit=1)[0]
    for name, part in zip(("Major", "Minor", "Patch"), parts, strict=True):
        if re.search(r"[^0-9]", part) or not part:
            return f"Invalid character(s) found in {name.lower()} number {quote(part)}"
        if len(part) > 1 and part.startswith("0"):
            return f"{name} number must not contain leading zeroes {quote(part)}"
    return "Prerelease meta data is empty"
