"""String formats a schema may name. What is not listed here is not checked."""

from __future__ import annotations

import base64
import binascii
import datetime
import ipaddress
import re
from collections.abc import Callable, Mapping
from urllib.parse import urlsplit

from proreus.api.values import names

# ``fromisoformat`` takes more: weeks, and from Python 3.14 on the hour 24.
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
_DATE_TIME = re.compile(
    r"\d{4}-\d{2}-\d{2}[Tt ]([01]\d|2[0-3]):\d{2}:\d{2}(\.\d{1,9})?([Zz]|[+-]\d{2}:\d{2})?",
    re.ASCII,
)
_DURATION = re.compile(
    r"[-+]?(\d+(\.\d*)?|\.\d+)(ns|us|µs|μs|ms|s|m|h)((\d+(\.\d*)?|\.\d+)(ns|us|µs|μs|ms|s|m|h))*|0"
)
_WORDS = re.compile(r"\s*\d+\s*(nanoseconds?|microseconds?|milliseconds?|seconds?|minutes?|hours?"
                    r"|days?|weeks?|ns|us|ms|s|m|h|d|w)\s*")  # fmt: skip
_EMAIL = re.compile(r"[^@\s<>]+@[^@\s<>]+")
_HOSTNAME = re.compile(
    r"(?=.{1,255}$)[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
    r"(\.[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?)*\.?"
)
_MAC = re.compile(
    r"([0-9A-Fa-f]{2}([:-])[0-9A-Fa-f]{2}(\2[0-9A-Fa-f]{2}){4}(\2[0-9A-Fa-f]{2}){0,2})"
    r"|([0-9A-Fa-f]{4}\.){2,3}[0-9A-Fa-f]{4}"
)
_UUID = re.compile(r"(?i)[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}")
_UUID_OF = r"(?i)[0-9a-f]{{8}}-?[0-9a-f]{{4}}-?{}[0-9a-f]{{3}}-?[{}][0-9a-f]{{3}}-?[0-9a-f]{{12}}"
_HEX_COLOR = re.compile(r"#?([0-9a-fA-F]{3}|[0-9a-fA-F]{6})")
_RGB = re.compile(r"rgb\(\s*(\d{1,3})\s*,\s*(\d{1,3})\s*,\s*(\d{1,3})\s*\)")
_SSN = re.compile(r"\d{3}[- ]?\d{2}[- ]?\d{4}")
_OBJECT_ID = re.compile(r"[0-9a-fA-F]{24}")
Check = Callable[[str], bool]


def _date(text: str) -> bool:
    if not _DATE.fullmatch(text):
        return False
    try:
        datetime.date.fromisoformat(text)
    except ValueError:
        return False
    return True


def _date_time(text: str) -> bool:
    if not _DATE_TIME.fullmatch(text):
        return False
    try:
        datetime.datetime.fromisoformat(text[:19].upper().replace(" ", "T"))
    except ValueError:
        return False
    return True


def _duration(text: str) -> bool:
    return bool(_DURATION.fullmatch(text) or _WORDS.fullmatch(text))


def _uri(text: str) -> bool:
    try:
        parts = urlsplit(text)
    except ValueError:
        return False
    return bool(parts.scheme) or text.startswith("/")


def _ip(version: int) -> Check:
    def check(text: str) -> bool:
        try:
            return ipaddress.ip_address(text).version == version
        except ValueError:
            return False

    return check


def _cidr(text: str) -> bool:
    try:
        ipaddress.ip_network(text, strict=False)
    except ValueError:
        return False
    return "/" in text


def _byte(text: str) -> bool:
    try:
        base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return False
    return True


def _luhn(text: str) -> bool:
    digits = [int(char) for char in text if char.isdigit()]
    if not 12 <= len(digits) <= 19 or not re.fullmatch(r"[\d -]+", text):
        return False
    doubled = [d if at % 2 == 0 else (d * 2 - 9 if d > 4 else d * 2)
               for at, d in enumerate(reversed(digits))]  # fmt: skip
    return sum(doubled) % 10 == 0


def _isbn10(text: str) -> bool:
    digits = text.replace("-", "").replace(" ", "")
    if not re.fullmatch(r"\d{9}[\dX]", digits):
        return False
    values = [10 if char == "X" else int(char) for char in digits]
    return sum((10 - at) * value for at, value in enumerate(values)) % 11 == 0


def _isbn13(text: str) -> bool:
    digits = text.replace("-", "").replace(" ", "")
    if not re.fullmatch(r"\d{13}", digits):
        return False
    return sum(int(char) * (3 if at % 2 else 1) for at, char in enumerate(digits)) % 10 == 0


def _rgb(text: str) -> bool:
    found = _RGB.fullmatch(text)
    return found is not None and all(int(part) < 256 for part in found.groups())


def _whole(pattern: re.Pattern[str]) -> Check:
    return lambda text: pattern.fullmatch(text) is not None


def _uuid(version: str, variant: str = "0-9a-f") -> Check:
    return _whole(re.compile(_UUID_OF.format(version, variant)))


FORMATS: Mapping[str, Check] = {
    "bsonobjectid": _whole(_OBJECT_ID),
    "byte": _byte,
    "cidr": _cidr,
    "creditcard": _luhn,
    "date": _date,
    "date-time": _date_time,
    "datetime": _date_time,
    "duration": _duration,
    "email": _whole(_EMAIL),
    "hexcolor": _whole(_HEX_COLOR),
    "hostname": _whole(_HOSTNAME),
    "ipv4": _ip(4),
    "ipv6": _ip(6),
    "isbn": lambda text: _isbn10(text) or _isbn13(text),
    "isbn10": _isbn10,
    "isbn13": _isbn13,
    "k8s-long-name": lambda text: not names.dns_subdomain(text),
    "k8s-short-name": lambda text: not names.dns_label(text),
    "mac": _whole(_MAC),
    "password": lambda _: True,
    "rgbcolor": _rgb,
    "ssn": _whole(_SSN),
    "uri": _uri,
    "uuid": _whole(_UUID),
    "uuid3": _uuid("3"),
    "uuid4": _uuid("4", "89ab"),
    "uuid5": _uuid("5", "89ab"),
}
# Also known, though nothing of a string is checked: formats of numbers.
KNOWN = frozenset(FORMATS) | {"int32", "int64", "float", "double"}
