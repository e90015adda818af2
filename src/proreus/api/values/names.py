"""Names: which strings may name objects, labels, ports and variables, and why one may not.

Every function returns the violations in Kubernetes' words, none if the text is good. The good case
is one pattern match; the sentences are only built for bad names.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable
from functools import lru_cache

Match = Callable[[str], re.Match[str] | None]
_LABEL = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = rf"{_LABEL}(\.{_LABEL})*"
_UNDERSCORE_LABEL = r"_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?"
_UNDERSCORE_SUBDOMAIN = rf"{_UNDERSCORE_LABEL}(\.{_UNDERSCORE_LABEL})*"
_LABEL_1035 = r"[a-z]([-a-z0-9]*[a-z0-9])?"
_WILDCARD = rf"\*\.{_SUBDOMAIN}"
_QUALIFIED = r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_LABEL_VALUE = rf"({_QUALIFIED})?"
_CONFIG_KEY = r"[-._a-zA-Z0-9]+"
_HTTP_HEADER = r"[-A-Za-z0-9]+"
_C_IDENTIFIER = r"[A-Za-z_][A-Za-z0-9_]*"

_MATCH_LABEL = re.compile(_LABEL, re.ASCII).fullmatch
_MATCH_SUBDOMAIN = re.compile(_SUBDOMAIN, re.ASCII).fullmatch
_MATCH_UNDERSCORE = re.compile(_UNDERSCORE_SUBDOMAIN, re.ASCII).fullmatch
_MATCH_1035 = re.compile(_LABEL_1035, re.ASCII).fullmatch
_MATCH_WILDCARD = re.compile(_WILDCARD, re.ASCII).fullmatch
_MATCH_QUALIFIED = re.compile(_QUALIFIED, re.ASCII).fullmatch
_MATCH_VALUE = re.compile(_LABEL_VALUE, re.ASCII).fullmatch
_MATCH_CONFIG_KEY = re.compile(_CONFIG_KEY, re.ASCII).fullmatch
_MATCH_C_IDENTIFIER = re.compile(_C_IDENTIFIER, re.ASCII).fullmatch
_MATCH_HEADER = re.compile(_HTTP_HEADER, re.ASCII).fullmatch
_MATCH_PORT_NAME = re.compile(r"(?=[-0-9]*[a-z])[a-z0-9]+(-[a-z0-9]+)*", re.ASCII).fullmatch
_OCTET = r"(25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])"
_MATCH_IPV4 = re.compile(rf"{_OCTET}(\.{_OCTET}){{3}}").fullmatch
_MATCH_VARIABLE = re.compile(r"[ -<>-~]+", re.ASCII).fullmatch

_ALNUM = "and must start and end with an alphanumeric character"
_QUALIFIED_TEXT = f"must consist of alphanumeric characters, '-', '_' or '.', {_ALNUM}"
IP_ADDRESS = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"
CIDR_VALUE = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"
LEADING_ZEROS = "must not have leading 0s"
_ZEROS = re.compile(r"(?<![0-9])0+(?=[0-9])", re.ASCII)
PORT_RANGE = "must be between 1 and 65535, inclusive"


def regex_text(message: str, pattern: str, *examples: str) -> str:
    """A sentence with its examples and the pattern, spaced as Kubernetes spaces it."""
    if not examples:
        return f"{message} (regex used for validation is '{pattern}')"
    rendered = " or ".join(f"'{example}', " for example in examples)
    return f"{message} (e.g. {rendered}regex used for validation is '{pattern}')"


def _longer(text: str, limit: int, unit: str) -> list[str]:
    return [f"must be no more than {limit} {unit}"] if len(text.encode()) > limit else []


def _violations(
    text: str, limit: int, match: Match, message: str, pattern: str, *examples: str
) -> list[str]:
    found = _longer(text, limit, "characters")
    return found if match(text) else [*found, regex_text(message, pattern, *examples)]


def dns_label(text: str) -> list[str]:
    """RFC 1123 label: namespaces, containers, volumes."""
    if len(text) <= 63 and _MATCH_LABEL(text):
        return []
    found = _longer(text, 63, "characters")
    if not _MATCH_LABEL(text):
        if _MATCH_SUBDOMAIN(text):
            # The usual mistake deserves the shorter sentence.
            return [*found, "must not contain dots"]
        message = (
            "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', "
            f"{_ALNUM}"
        )
        found.append(regex_text(message, _LABEL, "my-name", "123-abc"))
    return found


def dns_subdomain(text: str) -> list[str]:
    """RFC 1123 subdomain: the name of most objects."""
    if len(text) <= 253 and _MATCH_SUBDOMAIN(text):
        return []
    return _subdomain_violations(text, "characters")


def _subdomain_violations(text: str, unit: str) -> list[str]:
    found = _longer(text, 253, unit)
    if _MATCH_SUBDOMAIN(text):
        return found
    message = _subdomain_text("'-' or '.'")
    return [*found, regex_text(message, _SUBDOMAIN, "example.com")]


def dns_subdomain_with_underscore(text: str) -> list[str]:
    if len(text) <= 253 and _MATCH_UNDERSCORE(text):
        return []
    message = _subdomain_text("'_', '-' or '.'")
    return _violations(text, 253, _MATCH_UNDERSCORE, message, _UNDERSCORE_SUBDOMAIN, "example.com")


def _subdomain_text(marks: str) -> str:
    return (
        "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, "
        f"{marks}, {_ALNUM}"
    )


def c_identifier(text: str) -> list[str]:
    """The name of a device's attribute."""
    if _MATCH_C_IDENTIFIER(text):
        return []
    message = (
        "a valid C identifier must start with alphabetic character or '_', followed by a string of "
        "alphanumeric characters or '_'"
    )
    return [regex_text(message, _C_IDENTIFIER, "my_name", "MY_NAME", "MyName")]


def dns_1035_label(text: str) -> list[str]:
    """A label that starts with a letter."""
    if len(text) <= 63 and _MATCH_1035(text):
        return []
    message = (
        "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an "
        "alphabetic character, and end with an alphanumeric character"
    )
    return _violations(text, 63, _MATCH_1035, message, _LABEL_1035, "my-name", "abc-123")


def wildcard_subdomain(text: str) -> list[str]:
    if len(text) <= 253 and _MATCH_WILDCARD(text):
        return []
    message = (
        "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, "
        "which must consist of lower case alphanumeric characters, '-' or '.' and end with an "
        "alphanumeric character"
    )
    return _violations(text, 253, _MATCH_WILDCARD, message, _WILDCARD, "*.example.com")


def path_segment(text: str) -> list[str]:
    """Anything that can stand between two slashes: RBAC names."""
    if text in (".", ".."):
        return [f"may not be '{text}'"]
    if "/" not in text and "%" not in text:
        return []
    return [f"may not contain '{mark}'" for mark in "/%" if mark in text]


@lru_cache(4096)
def _qualified(text: str) -> tuple[str, ...]:
    prefix, slash, name = text.rpartition("/")
    if "/" in prefix:
        message = f"a valid label key {_QUALIFIED_TEXT}"
        rendered = regex_text(message, _QUALIFIED, "MyName", "my.name", "123-abc")
        return (
            f"{rendered} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')",
        )
    found: list[str] = []
    if slash:
        if not prefix:
            found.append("prefix part must be non-empty")
        else:
            wrong = _subdomain_violations(prefix, "bytes")
            found += [f"prefix part {error}" for error in wrong]
    if not name:
        found.append("name part must be non-empty")
    elif len(name.encode()) > 63:
        found.append("name part must be no more than 63 bytes")
    if not _MATCH_QUALIFIED(name):
        message = f"name part {_QUALIFIED_TEXT}"
        found.append(regex_text(message, _QUALIFIED, "MyName", "my.name", "123-abc"))
    return tuple(found)


def qualified_name(text: str) -> list[str]:
    """``example.com/MyName``: label keys, finalizers, resource names."""
    return list(_qualified(text))


def label_value(text: str) -> list[str]:
    if len(text) <= 63 and _MATCH_VALUE(text):
        return []
    found = _longer(text, 63, "bytes")
    if not _MATCH_VALUE(text):
        message = (
            "a valid label must be an empty string or consist of alphanumeric characters, "
            f"'-', '_' or '.', {_ALNUM}"
        )
        found.append(regex_text(message, _LABEL_VALUE, "MyValue", "my_value", "12345"))
    return found


def config_key(text: str) -> list[str]:
    """The keys of config maps and secrets, which become file names."""
    if len(text) <= 253 and _MATCH_CONFIG_KEY(text) and text != "." and not text.startswith(".."):
        return []
    message = "a valid config key must consist of alphanumeric characters, '-', '_' or '.'"
    examples = ("key.name", "KEY_NAME", "key-name")
    found = _violations(text, 253, _MATCH_CONFIG_KEY, message, _CONFIG_KEY, *examples)
    return found + dot_segments(text)


def dot_segments(text: str) -> list[str]:
    if text in (".", ".."):
        return [f"must not be '{text}'"]
    return ["must not start with '..'"] if text.startswith("..") else []


def environment_variable(text: str) -> list[str]:
    if _MATCH_VARIABLE(text):
        return []
    if not text:
        return ["environment variable name must be non-empty"]
    return [
        "a valid environment variable name must consist only of printable ASCII characters "
        "other than '='"
    ]


def http_header(text: str) -> list[str]:
    if _MATCH_HEADER(text):
        return []
    message = "a valid HTTP header must consist of alphanumeric characters or '-'"
    return [regex_text(message, _HTTP_HEADER, "X-Header-Name")]


def port_name(text: str) -> list[str]:
    """An IANA service name, as named ports are."""
    if len(text) <= 15 and _MATCH_PORT_NAME(text):
        return []
    found: list[str] = []
    if len(text.encode(errors="surrogatepass")) > 15:
        found.append("must be no more than 15 characters")
    if not re.fullmatch(r"[-a-z0-9]+", text, re.ASCII):
        found.append("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)")
    if not re.search(r"[a-z]", text):
        found.append("must contain at least one letter (a-z)")
    if "--" in text:
        found.append("must not contain consecutive hyphens")
    if text.startswith("-") or text.endswith("-"):
        found.append("must not begin or end with a hyphen")
    return found


def ip_address(text: str) -> list[str]:
    """Rules of the older fields: an address that every parser reads alike, in any spelling."""
    if _MATCH_IPV4(text):
        return []
    address = parse_ip(text)
    if address is None:
        return [LEADING_ZEROS if parse_ip(_without_zeros(text)) else IP_ADDRESS]
    mapped = isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is not None
    return ["must not be an IPv4-mapped IPv6 address"] if mapped else []


def canonical_ip_address(text: str) -> list[str]:
    """Rules of fields whose texts are compared: one spelling for each address."""
    if found := ip_address(text):
        return found
    canonical = str(parse_ip(text))
    return [] if text == canonical else [f'must be in canonical form ("{canonical}")']


def cidr(text: str) -> list[str]:
    """A network, or the address of a host with its network's size, as the older fields allow."""
    network = parse_cidr(text)
    if network is None or text.rpartition("/")[2] != str(network.prefixlen):
        empty_leaves = parse_cidr(_without_zeros(text)) is not None
        return [f"{LEADING_ZEROS} in IP or prefix length" if empty_leaves else CIDR_VALUE]
    address = parse_ip(text.rpartition("/")[0])
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is not None:
        return ["must not have an IPv4-mapped IPv6 address"]
    if address != network.network_address:
        return ["must not have bits set beyond the prefix length"]
    return []


def canonical_cidr(text: str) -> list[str]:
    if found := cidr(text):
        return found
    canonical = str(parse_cidr(text))
    return [] if text == canonical else [f'must be in canonical form ("{canonical}")']


def _without_zeros(text: str) -> str:
    """The text without the zeros in front of decimal numbers, which some parsers read as octal."""
    if ":" in text:
        head, slash, bits = text.partition("/")
        before, colon, last = head.rpartition(":")
        last = _ZEROS.sub("", last) if "." in last else last
        return f"{before}{colon}{last}{slash}{_ZEROS.sub('', bits)}"
    return _ZEROS.sub("", text)


Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network


def parse_ip(text: str) -> Address | None:
    try:
        return ipaddress.ip_address(text) if "%" not in text else None
    except ValueError:
        return None


def parse_cidr(text: str) -> Network | None:
    """The network around ``address/bits``; host bits are allowed, as Kubernetes allows them."""
    if "/" not in text or "%" in text or not text.rpartition("/")[2].isascii():
        return None
    try:
        return ipaddress.ip_network(text, strict=False)
    except ValueError:
        return None
