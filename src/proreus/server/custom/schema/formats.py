"""String formats a schema may name. What is not listed here is not checked."""

from __future__ import annotations

import datetime
import ipaddress
import re
from collections.abc import Callable, Mapping

from proreus.api.values import names
from proreus.api.values.urls import url_fault

# ``fromisoformat`` takes more: weeks, and from Python 3.14 on the hour 24.
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
_TIME = re.compile(r"([01]\d|2[0-3]):[0-5]\d:[0-5]\d([^\n]\d+)?([Zz]|[+-]\d{2}:\d{2})", re.ASCII)
_DURATION = re.compile(r"[-+]?((\d+(\.\d*)?|\.\d+)(ns|us|µs|μs|ms|s|m|h))+|[-+]?0", re.ASCII)
# Any number with a unit anywhere will do. A search begins where digits do: within them it would
# take the square of a long text's time.
_WORDS = re.compile(r"(?<!\d)\d+\s*([A-Za-zµ]+)", re.ASCII)
_UNITS = frozenset(("ns", "us", "µs", "ms", "s", "m", "h", "hr", "d", "w", "wk"))
_UNIT_WORDS = ("nano", "micro", "milli", "sec", "min", "hour", "day", "week")
_ATOM = r"[\w!#$%&'*+/=?^`{|}~\u0080-\U0010ffff-]+"
_QUOTED = r'"(?:[^"\\\r\n]|\\.)*"'
_ADDRESS = rf"(?:{_ATOM}(?:\.{_ATOM})*|{_QUOTED})@{_ATOM}(?:\.{_ATOM})*"
_EMAIL = re.compile(_ADDRESS)
_DISPLAYED = re.compile(rf"(?:[^\x00-\x1f\"<>@,:;()\[\]\\]|{_QUOTED})*")
# Symbols and letters of any script are taken; the last label of several has two characters.
_CHAR = r"(?:[^\W_]|[$+<=>^`|~]|[^\x00-\x7f\s])"
_HOSTNAME = re.compile(
    rf"{_CHAR}(?:-?{_CHAR}{{0,62}})?"
    rf"|(?:{_CHAR}(?:(?:{_CHAR}|-){{0,61}}{_CHAR})?\.)+{_CHAR}(?:-?{_CHAR}){{1,62}}"
)
_MAC = re.compile(
    r"[0-9A-Fa-f]{2}([:-])[0-9A-Fa-f]{2}(\1[0-9A-Fa-f]{2}){4}"
    r"((\1[0-9A-Fa-f]{2}){2}|(\1[0-9A-Fa-f]{2}){14})?"
    r"|([0-9A-Fa-f]{4}\.){2}([0-9A-Fa-f]{4}\.|([0-9A-Fa-f]{4}\.){7})?[0-9A-Fa-f]{4}"
)
_UUID = re.compile(r"(?i)[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}")
_UUID_OF = r"(?i)[0-9a-f]{{8}}-?[0-9a-f]{{4}}-?{}[0-9a-f]{{3}}-?[{}][0-9a-f]{{3}}-?[0-9a-f]{{12}}"
_HEX_COLOR = re.compile(r"#?([0-9a-fA-F]{3}|[0-9a-fA-F]{6})")
_RGB = re.compile(
    r"rgb\(\s*{0}\s*,\s*{0}\s*,\s*{0}\s*\)".format(r"(?:0|[1-9]\d?|1\d\d?|2[0-4]\d|25[0-5])"),
    re.ASCII,
)
_SSN = re.compile(r"\d{3}[- ]\d{2}[- ]\d{4}", re.ASCII)
_OBJECT_ID = re.compile(r"[0-9a-fA-F]{24}")
_BYTE = re.compile(r"([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})")
_CARD = re.compile(
    r"4\d{12}(\d{3})?|5[1-5]\d{14}|(222[1-9]|22[3-9]\d|2[3-6]\d{2}|27[01]\d|2720)\d{12}"
    r"|6(011|5\d\d)\d{12}|3[47]\d{13}|3(0[0-5]|[68]\d)\d{11}|(2131|1800|35\d{3})\d{11}|6[27]\d{14}",
    re.ASCII,
)
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_HOSTNAME_BYTES_MAX, _LABEL_BYTES_MAX = 255, 63
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
    day, separator, time = text.replace("t", "T").partition("T")
    return bool(separator) and _date(day) and _TIME.fullmatch(time) is not None


def _email(text: str) -> bool:
    """An address, or one in angle brackets after a name."""
    name, bracket, rest = text.strip().rpartition("<")
    if not bracket:
        return _EMAIL.fullmatch(rest) is not None
    address = rest[:-1].strip()
    return rest.endswith(">") and bool(_EMAIL.fullmatch(address) and _DISPLAYED.fullmatch(name))


def _duration(text: str) -> bool:
    units = (unit.lower() for unit in _WORDS.findall(text))
    return bool(_DURATION.fullmatch(text)) or any(
        unit in _UNITS or unit.startswith(_UNIT_WORDS) for unit in units
    )


def _uri(text: str) -> bool:
    """What may stand in a request: of a scheme, or a path."""
    is_absolute = text.startswith("/") or text == "*" or _SCHEME.match(text)
    return bool(is_absolute) and not url_fault(text)


def _hostname(text: str) -> bool:
    return (
        len(text.encode()) <= _HOSTNAME_BYTES_MAX
        and all(len(label.encode()) <= _LABEL_BYTES_MAX for label in text.split("."))
        and _HOSTNAME.fullmatch(text) is not None
    )


def _ip(mark: str) -> Check:
    """An address of either family, told by the mark in it: an IPv4 in an IPv6 is both."""
    return lambda text: mark in text and _is_address(text)


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return "%" not in text


def _cidr(text: str) -> bool:
    address, _, bits = text.partition("/")
    if not _is_address(address) or not re.fullmatch("[0-9]{1,7}", bits):
        return False
    return int(bits) <= ipaddress.ip_address(address).max_prefixlen


def _credit_card(text: str) -> bool:
    numbers = re.sub("[^0-9]+", "", text)
    if not _CARD.fullmatch(numbers):
        return False
    doubled = [d if at % 2 == 0 else (d * 2 - 9 if d > 4 else d * 2)
               for at, d in enumerate(map(int, reversed(numbers)))]  # fmt: skip
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


def _whole(pattern: re.Pattern[str]) -> Check:
    return lambda text: pattern.fullmatch(text) is not None


def _uuid(version: str, variant: str = "0-9a-f") -> Check:
    return _whole(re.compile(_UUID_OF.format(version, variant)))


FORMATS: Mapping[str, Check] = {
    "bsonobjectid": _whole(_OBJECT_ID),
    "byte": _whole(_BYTE),
    "cidr": _cidr,
    "creditcard": _credit_card,
    "date": _date,
    "datetime": _date_time,
    "duration": _duration,
    "email": _email,
    "hexcolor": _whole(_HEX_COLOR),
    "hostname": _hostname,
    "ipv4": _ip("."),
    "ipv6": _ip(":"),
    "isbn": lambda text: _isbn10(text) or _isbn13(text),
    "isbn10": _isbn10,
    "isbn13": _isbn13,
    "k8slongname": lambda text: not names.dns_subdomain(text),
    "k8sshortname": lambda text: not names.dns_label(text),
    "mac": _whole(_MAC),
    "password": lambda _: True,
    "rgbcolor": _whole(_RGB),
    "ssn": _whole(_SSN),
    "uri": _uri,
    "uuid": _whole(_UUID),
    "uuid3": _uuid("3"),
    "uuid4": _uuid("4", "89ab"),
    "uuid5": _uuid("5", "89ab"),
}
# Also known, though nothing of a string is checked: formats of numbers.
_OF_NUMBERS = frozenset(("int32", "int64", "float", "double"))


def is_known(form: str) -> bool:
    """A format that is not known says nothing. Dashes do not matter."""
    name = form.replace("-", "")
    return name in FORMATS or name in _OF_NUMBERS


def is_known_of(form: str, kind: str) -> bool:
    """Whether it says something of values of the type; "" is any, which is looked at as text."""
    match kind:
        case "" | "string":
            return form.replace("-", "") in FORMATS
        case "integer":
            return form in ("int32", "int64")
        case "number":
            return form in ("float", "double")
        case _:
            return False


def format_check(form: str) -> Check | None:
    return FORMATS.get(form.replace("-", ""))
