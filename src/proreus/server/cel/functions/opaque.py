"""Values that only Kubernetes' functions make: addresses, URLs, quantities, versions, formats."""

from __future__ import annotations

import functools
import ipaddress
import re
from collections.abc import Callable
from fractions import Fraction
from typing import ClassVar
from urllib.parse import SplitResult, parse_qs, urlsplit

from proreus.api.values import names, quantity
from proreus.lazy_dataclass import dataclass
from proreus.server.cel.functions.parse_faults import address_fault, range_fault, version_fault
from proreus.server.cel.values import EvaluationError

_SEMVER = re.compile(
    r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)"
    r"(?:-([0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*))?(?:\+[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*)?",
    re.ASCII,
)
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")


@dataclass(frozen=True, slots=True)
class Ip:
    cel_type: ClassVar[str] = "net.IP"
    address: names.Address

    @classmethod
    def parse(cls, text: str) -> Ip:
        found = names.parse_ip(text)
        if found is None or getattr(found, "ipv4_mapped", None) is not None:
            raise EvaluationError(address_fault(text))
        return cls(found)

    def __str__(self) -> str:
        return str(self.address)


@dataclass(frozen=True, slots=True)
class Cidr:
    cel_type: ClassVar[str] = "net.CIDR"
    interface: ipaddress.IPv4Interface | ipaddress.IPv6Interface

    @classmethod
    def parse(cls, text: str) -> Cidr:
        if names.parse_cidr(text) is None:
            raise EvaluationError(range_fault(text))
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


@dataclass(frozen=True, slots=True)
class Url:
    cel_type: ClassVar[str] = "kubernetes.URL"
    parts: SplitResult

    @classmethod
    def parse(cls, text: str) -> Url:
        """Absolute URLs and absolute paths, as Go's ParseRequestURI takes them."""
        try:
            parts = urlsplit(text)
            parts.port  # noqa: B018  # a bad port is found when it is read
        except ValueError as error:
            raise EvaluationError(
                f"URL parse error during conversion from string: {error}"
            ) from error
        if not (text.startswith("/") or _SCHEME.match(text)) or " " in parts.netloc:
            raise EvaluationError(
                "URL parse error during conversion from string: "
                f'parse "{text}": invalid URI for request'
            )
        return cls(parts)

    @property
    def host(self) -> str:
        return self.parts.netloc.rpartition("@")[2]

    @property
    def hostname(self) -> str:
        inner = re.fullmatch(r"\[(.*)\](?::\d*)?|([^:]*)(?::\d*)?", self.host)
        return (inner[1] or inner[2] or "") if inner else self.host

    @property
    def port(self) -> str:
        return str(self.parts.port) if self.parts.port is not None else ""

    @property
    def query(self) -> dict[str, list[str]]:
        return parse_qs(self.parts.query, keep_blank_values=True)


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
        found = _SEMVER.fullmatch(_tidied(text) if is_loose else text)
        if found is None:
            raise EvaluationError(version_fault(_tidied(text) if is_loose else text))
        before = tuple(found[4].split(".")) if found[4] else ()
        return cls((int(found[1]), int(found[2]), int(found[3])), before)

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
    number, mark, rest = re.fullmatch(r"v?([^-+]*)([-+]?)(.*)", text, re.DOTALL).groups()  # type: ignore[union-attr]  # it always matches
    parts = [part.lstrip("0") or "0" for part in number.split(".")]
    parts += ["0"] * (3 - len(parts))
    return ".".join(parts) + mark + rest


@dataclass(frozen=True, slots=True)
class NamedFormat:
    cel_type: ClassVar[str] = "kubernetes.NamedFormat"
    name: str
    errors: Callable[[str], list[str]]
