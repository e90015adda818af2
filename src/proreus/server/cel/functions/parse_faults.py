"""What Go's parsers say of a text that is no address, range of addresses or version."""

from __future__ import annotations

import ipaddress
import re

from proreus.api.field_error import quote

_RANGE = "network address parse error during conversion from string: "
_NO_DIGIT = "IPv4 field must have at least one digit"
_GROUP = re.compile(r"[0-9a-fA-F]*", re.ASCII)
_PART = re.compile(r"[0-9A-Za-z-]+")
_LEADING_ZERO = re.compile(r"0[0-9]+")
_INT_MAX, _UINT_MAX = 2**63 - 1, 2**64 - 1
_DIGITS_MAX = 20  # of either; longer ones are not made numbers of


def address_fault(text: str) -> str:
    """Of a text that ``ip`` does not take, "" for an address."""
    if why := _parse_fault(text):
        return f"IP Address {quote(text)} parse error during conversion from string: {why}"
    if "%" in text:
        return f"IP address {quote(text)} with zone value is not allowed"
    return f"IPv4-mapped IPv6 address {quote(text)} is not allowed" if _is_mapped(text) else ""


def range_fault(text: str) -> str:
    """Of a text that ``cidr`` does not take, "" for a range. Kubernetes writes the beginning
    twice.
    """
    address, slash, bits = text.rpartition("/")
    why = _parse_fault(address)
    if not slash:
        why = "no '/'"
    elif not why and "%" in address:
        why = "IPv6 zones cannot be present in a prefix"
    elif not why and not (re.fullmatch(r"[0-9]|[1-9][0-9]+", bits) and _fits(bits, _INT_MAX)):
        why = f"bad bits after slash: {quote(bits)}"
    elif not why and int(bits) > (128 if ":" in address else 32):
        why = "prefix length out of range"
    if why:
        return f"{_RANGE}{_RANGE}netip.ParsePrefix({quote(text)}): {why}"
    if _is_mapped(address):
        return f"{_RANGE}IPv4-mapped IPv6 address {quote(text)} is not allowed"
    return ""


def _fits(digits: str, most: int) -> bool:
    return len(digits) <= _DIGITS_MAX and int(digits) <= most


def _is_mapped(text: str) -> bool:
    return getattr(ipaddress.ip_address(text), "ipv4_mapped", None) is not None


def _parse_fault(text: str) -> str:
    """As ``netip.ParseAddr``, "" for an address."""
    first = re.search(r"[.:%]", text)
    match first[0] if first else "":
        case ".":
            why = _v4_fault(text)
        case ":":
            why = _v6_fault(text)
        case "%":
            why = "missing IPv6 address"
        case _:
            why = "unable to parse IP"
    return f"ParseAddr({quote(text)}): {why}" if why else ""


def _v4_fault(text: str) -> str:
    digits, parts = "", 1
    for at, sign in enumerate(text):
        if sign in "0123456789":
            if digits == "0":
                return "IPv4 field has octet with leading zero"
            digits += sign
            if int(digits) > 255:
                return "IPv4 field has value >255"
        elif sign != ".":
            return f"unexpected character (at {quote(text[at:])})"
        elif not digits or at == len(text) - 1:
            return f"{_NO_DIGIT} (at {quote(text[at:])})"
        elif parts == 4:
            return "IPv4 address too long"
        else:
            digits, parts = "", parts + 1
    return "IPv4 address too short" if parts < 4 else ""


def _v6_fault(text: str) -> str:
    text, percent, zone = text.partition("%")
    if percent and not zone:
        return "zone must be a non-empty string"
    has_gap, groups = text.startswith("::"), 0
    rest = text[2:] if has_gap else text
    if has_gap and not rest:
        return ""
    while groups < 8:
        digits = _GROUP.match(rest)[0]  # type: ignore[index]  # it matches nothing, too
        if len(digits) > 4:
            return f"each group must have 4 or less digits (at {quote(rest)})"
        if not digits:
            return f"each colon-separated field must have at least one digit (at {quote(rest)})"
        after = rest[len(digits) :]
        if after.startswith("."):
            if not has_gap and groups != 6:
                why = "embedded IPv4 address must replace the final 2 fields of the address"
                return f"{why} (at {quote(rest)})"
            if groups > 6:
                why = "too many hex fields to fit an embedded IPv4 at the end of the address"
                return f"{why} (at {quote(rest)})"
            if why := _v4_fault(rest):
                return why
            rest, groups = "", groups + 2
            break
        rest, groups = after, groups + 1
        if not rest:
            break
        if not rest.startswith(":"):
            return f"unexpected character, want colon (at {quote(rest)})"
        if len(rest) == 1:
            return f"colon must be followed by more characters (at {quote(rest)})"
        rest = rest[1:]
        if rest.startswith(":"):
            if has_gap:
                return f"multiple :: in address (at {quote(rest)})"
            has_gap, rest = True, rest[1:]
            if not rest:
                break
    if rest:
        return f"trailing garbage after address (at {quote(rest)})"
    if groups < 8:
        return "" if has_gap else "address string too short"
    return "the :: must expand to at least one field of zeros" if has_gap else ""


def version_fault(text: str) -> str:
    """Of a text that ``semver`` does not take, "" for a version."""
    if not text:
        return "Version string empty"
    parts = text.split(".", 2)
    if len(parts) < 3:
        return "No Major.Minor.Patch elements found"
    rest, plus, build = parts[2].partition("+")
    parts[2], dash, before = rest.partition("-")
    for name, part in zip(("Major", "Minor", "Patch"), parts, strict=True):
        if re.search(r"[^0-9]", part):
            return f"Invalid character(s) found in {name.lower()} number {quote(part)}"
        if _LEADING_ZERO.fullmatch(part):
            return f"{name} number must not contain leading zeroes {quote(part)}"
        if not part or not _fits(part, _UINT_MAX):
            why = "value out of range" if part else "invalid syntax"
            return f"strconv.ParseUint: parsing {quote(part)}: {why}"
    for part in before.split(".") if dash else ():
        if not part:
            return "Prerelease is empty"
        if _LEADING_ZERO.fullmatch(part):
            return f"Numeric PreRelease version must not contain leading zeroes {quote(part)}"
        if not _PART.fullmatch(part):
            return f"Invalid character(s) found in prerelease {quote(part)}"
        if part.isdecimal() and not _fits(part, _UINT_MAX):
            return f"strconv.ParseUint: parsing {quote(part)}: value out of range"
    for part in build.split(".") if plus else ():
        if not part:
            return "Build meta data is empty"
        if not _PART.fullmatch(part):
            return f"Invalid character(s) found in build meta data {quote(part)}"
    return ""
