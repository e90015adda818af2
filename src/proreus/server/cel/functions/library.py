"""Kubernetes' functions: on lists, URLs, addresses, quantities, versions, formats and sets."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Mapping
from datetime import timedelta
from itertools import pairwise
from typing import Any

from proreus.api.values import names
from proreus.api.values.timestamp import parse_time
from proreus.api.values.urls import request_fault
from proreus.server.cel.functions.opaque import Amount, Cidr, Ip, NamedFormat, Semver
from proreus.server.cel.functions.operators import NO_OVERLOAD, comparable
from proreus.server.cel.functions.operators import TABLE as OPERATORS
from proreus.server.cel.functions.texts import INDEX_OF, LAST_INDEX_OF
from proreus.server.cel.functions.urls import Url
from proreus.server.cel.syntax import Uint
from proreus.server.cel.values import NONE, EvaluationError, Optional, equal

_SUMMED = (int, Uint, float, timedelta)
_UUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}", re.ASCII)


def _is_sorted(values: list[Any]) -> bool:
    for left, right in pairwise(values):
        comparable(left, right)
        if right < left:
            return False
    return True


def _sum(values: list[Any]) -> Any:
    if not values:
        return 0
    total = values[0]
    if total.__class__ not in _SUMMED:
        raise TypeError  # no overload takes it
    for one in values[1:]:
        total = OPERATORS["_+_"](total, one)
    return total


def _extreme(name: str, pick: Callable[..., Any]) -> Callable[[list[Any]], Any]:
    def run(values: list[Any]) -> Any:
        if not values:
            raise EvaluationError(f"{name} called on empty list")
        for left, right in pairwise(values):
            comparable(left, right)
        return pick(values)

    return run


def _index_of(values: Any, wanted: Any, *start: int) -> int:
    if isinstance(values, str):
        return INDEX_OF(values, wanted, *start)
    return next((at for at, value in enumerate(values) if equal(value, wanted)), -1)


def _last_index_of(values: Any, wanted: Any, *start: int) -> int:
    if isinstance(values, str):
        return LAST_INDEX_OF(values, wanted, *start)
    return max((at for at, value in enumerate(values) if equal(value, wanted)), default=-1)


def _parses(parse: Callable[..., Any]) -> Callable[..., bool]:
    def run(*arguments: Any) -> bool:
        try:
            parse(*arguments)
        except EvaluationError:
            return False
        return True

    return run


def _ip(value: str | Cidr) -> Ip:
    return Ip(value.interface.ip) if isinstance(value, Cidr) else Ip.parse(value)


def _contains_ip(cidr: Cidr, ip: Ip | str) -> bool:
    try:
        return cidr.contains(Ip.parse(ip) if isinstance(ip, str) else ip)
    except EvaluationError:
        raise EvaluationError(NO_OVERLOAD) from None


def _as_integer(amount: Amount) -> int:
    if amount.value.denominator != 1 or abs(amount.value) >= 2**63:
        raise EvaluationError("cannot convert value to integer")
    return int(amount.value)


def _moved(sign: int) -> Callable[[Amount, Amount | int], Amount]:
    def run(amount: Amount, other: Amount | int) -> Amount:
        step = other.value if isinstance(other, Amount) else other
        return Amount(amount.value + sign * step)

    return run


def _contains_set(values: list[Any], parts: list[Any]) -> bool:
    return all(any(equal(part, value) for value in values) for part in parts)


def _intersects(left: list[Any], right: list[Any]) -> bool:
    return any(equal(one, other) for one in left for other in right)


def _validator(check: Callable[[str], Any], message: str) -> Callable[[str], list[str]]:
    def run(text: str) -> list[str]:
        try:
            return [] if check(text) is not None else [message]
        except (ValueError, binascii.Error, EvaluationError):
            return [message]

    return run


def _prefix(check: Callable[[str], list[str]]) -> Callable[[str], list[str]]:
    """A name that something is still put behind may end in a dash, which goes unseen with the
    character before it."""
    return lambda text: check(text[:-2] + "a" if text[1:].endswith("-") else text)


_FORMATS: Mapping[str, Callable[[str], list[str]]] = {
    "dns1123Label": names.dns_label,
    "dns1123Subdomain": names.dns_subdomain,
    "dns1035Label": names.dns_1035_label,
    "qualifiedName": names.qualified_name,
    "dns1123LabelPrefix": _prefix(names.dns_label),
    "dns1123SubdomainPrefix": _prefix(names.dns_subdomain),
    "dns1035LabelPrefix": _prefix(names.dns_1035_label),
    "labelValue": names.label_value,
    "uri": lambda text: [fault] if (fault := request_fault(text)) else [],
    "uuid": _validator(_UUID.fullmatch, "does not match the UUID format"),
    "byte": _validator(lambda text: base64.b64decode(text, validate=True), "invalid base64"),
    "date": _validator(lambda text: parse_time(f"{text}T00:00:00Z"), "invalid date"),
    "datetime": _validator(parse_time, "invalid datetime"),
}


def _named(name: str) -> Optional:
    found = _FORMATS.get(name)
    return NONE if found is None else Optional(True, NamedFormat(name, found))


def _validate(form: NamedFormat, text: str) -> Optional:
    found = form.errors(text)
    return Optional(True, found) if found else NONE


def _compare(left: Any, right: Any) -> int:
    return int(left > right) - int(left < right)


TABLE: Mapping[str, Callable[..., Any]] = {
    "isSorted": _is_sorted,
    "sum": _sum,
    "min": _extreme("min", min),
    "max": _extreme("max", max),
    "indexOf": _index_of,
    "lastIndexOf": _last_index_of,
    "sets.contains": _contains_set,
    "sets.intersects": _intersects,
    "sets.equivalent": lambda a, b: _contains_set(a, b) and _contains_set(b, a),
    "isURL": _parses(Url.parse),
    "url": Url.parse,
    "getScheme": lambda url: url.scheme,
    "getHost": lambda url: url.host,
    "getHostname": lambda url: url.hostname,
    "getPort": lambda url: url.port,
    "getEscapedPath": lambda url: url.escaped_path,
    "getQuery": lambda url: url.query,
    "isIP": _parses(Ip.parse),
    "ip": _ip,
    "ip.isCanonical": lambda text: str(Ip.parse(text)) == text,
    "family": lambda ip: ip.address.version,
    "isUnspecified": lambda ip: ip.address.is_unspecified,
    "isLoopback": lambda ip: ip.address.is_loopback,
    "isLinkLocalUnicast": lambda ip: ip.address.is_link_local,
    "isLinkLocalMulticast": lambda ip: str(ip).startswith(("224.0.0.", "ff02:", "ff12:")),
    "isGlobalUnicast": lambda ip: not (
        ip.address.is_unspecified or ip.address.is_loopback or ip.address.is_multicast
        or ip.address.is_link_local or str(ip) == "255.255.255.255"
    ),
    "isCIDR": _parses(Cidr.parse),
    "cidr": Cidr.parse,
    "containsIP": _contains_ip,
    "containsCIDR": lambda cidr, other: cidr.contains(other),
    "masked": lambda cidr: cidr.masked(),
    "prefixLength": lambda cidr: cidr.interface.network.prefixlen,
    "isQuantity": _parses(Amount.parse),
    "quantity": Amount.parse,
    "sign": lambda amount: (amount.value > 0) - (amount.value < 0),
    "isInteger": lambda amount: amount.value.denominator == 1 and abs(amount.value) < 2**63,
    "asInteger": _as_integer,
    "asApproximateFloat": lambda amount: float(amount.value),
    "add": _moved(1),
    "sub": _moved(-1),
    "isGreaterThan": lambda left, right: left > right,
    "isLessThan": lambda left, right: left < right,
    "compareTo": _compare,
    "semver": Semver.parse,
    "isSemver": _parses(Semver.parse),
    "major": lambda version: version.numbers[0],
    "minor": lambda version: version.numbers[1],
    "patch": lambda version: version.numbers[2],
    **{f"format.{name}": lambda name=name: NamedFormat(name, _FORMATS[name]) for name in _FORMATS},
    "format.named": _named,
    "validate": _validate,
}  # fmt: skip
