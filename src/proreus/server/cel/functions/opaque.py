"""Values that only Kubernetes' functions make: addresses, quantities, versions, formats."""

from __future__ import annotations

import functools
import ipaddress
import re
from collections.abc import Callable
from fractions import Fraction
from typing import ClassVar

from proreus.api.values import names, quantity
from proreus.lazy_dataclass import dataclass
from proreus.server.cel.functions.parse_faults import address_fault, range_fault, version_fault
from proreus.server.cel.values import EvaluationError

_DIGITS = frozenset("0123456789")


@dataclass(frozen=True, slots=True)
class Ip:
    cel_type: ClassVar[str] = "net.IP"
    address: names.Address

    @classmethod
    def parse(cls, text: str) -> Ip:
        if why := address_fault(text):
            raise EvaluationError(why)
        return cls(ipaddress.ip_address(text))

    def __str__(self) -> str:
        return str(self.address)


@dataclass(frozen=True, slots=True)
class Cidr:
    cel_type: ClassVar[str] = "net.CIDR"
    interface: ipaddress.IPv4Interface | ipaddress.IPv6Interface

    @classmethod
    def parse(cls, text: str) -> Cidr:
        if why := range_fault(text):
            raise EvaluationError(why)
        return cls(ipaddress.ip_interface(text))

    def contains(self, other: Ip | Cidr | str) -> bool:
        if isinstance(other, Ip):
            mine, address = self.interface.network, other.address
            return mine.version == address.version and address in mine
        inner = Cidr.parse(other) if isinstance(other, str) else other
        mine, theirs = self.interface.network, inner.interface.network
        if isinstance(mine, ipaddress.IPv4Network):
            return isinstance(theirs, ipaddress.IPv4Network) and theirs.subnet_of(mine)
        return isinstance(theirs, ipaddress.IPv6Network) and theirs.subnet_of(mine)

    def masked(self) -> Cidr:
        return Cidr(ipaddress.ip_interface(str(self.interface.network)))

    def __str__(self) -> str:
        return str(self.interface)


@functools.total_ordering
@dataclass(frozen=True, slots=True)
class Amount:
    """A quantity, by its exact value."""

    cel_type: ClassVar[str] = "kubernetes.Quantity"
    value: Fraction

    @classmethod
    def parse(cls, text: str) -> Amount:
        try:
            return cls(quantity.parse(text).amount)
        except quantity.QuantityError as error:
            raise EvaluationError(str(error)) from error

    def __lt__(self, other: Amount) -> bool:
        return self.value < other.value


@functools.total_ordering
@dataclass(frozen=True, slots=True)
class Semver:
    """A semantic version. Build metadata does not count."""

    cel_type: ClassVar[str] = "kubernetes.Semver"
    numbers: tuple[int, int, int]
    before: tuple[str, ...]  # the parts of a pre-release

    @classmethod
    def parse(cls, text: str, is_loose: bool = False) -> Semver:  # CEL's argument
        text = _tidied(text) if is_loose else text
        if why := version_fault(text):
            raise EvaluationError(why)
        major, minor, rest = text.partition("+")[0].split(".", 2)
        patch, _, before = rest.partition("-")
        return cls((int(major), int(minor), int(patch)), tuple(before.split(".") if before else ()))

    def __lt__(self, other: Semver) -> bool:
        if self.numbers != other.numbers:
            return self.numbers < other.numbers
        if not self.before or not other.before:
            return bool(self.before) and not other.before
        return [_rank(part) for part in self.before] < [_rank(part) for part in other.before]


def _rank(part: str) -> tuple[bool, int, str]:
    return (False, int(part), "") if part.isdigit() else (True, 0, part)


def _tidied(text: str) -> str:
    """``v1.2`` is ``1.2.0``, leading zeros are dropped."""
    parts = text.removeprefix("v").split(".", 2)
    for at, part in enumerate(parts):
        if len(part) > 1:
            bare = part.lstrip("0")
            parts[at] = bare if bare[:1] in _DIGITS and bare else f"0{bare}"
    if len(parts) < 3 and re.search(r"[-+]", parts[-1]):
        raise EvaluationError("short version cannot contain PreRelease/Build meta data")
    return ".".join([*parts, *["0"] * (3 - len(parts))])


@dataclass(frozen=True, slots=True)
class NamedFormat:
    cel_type: ClassVar[str] = "kubernetes.NamedFormat"
    name: str
    errors: Callable[[str], list[str]]
