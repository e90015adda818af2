"""Names are validated by Kubernetes' grammars, in its words."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proreus.api.values import names

_LABEL_TEXT = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and "
    "must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used "
    "for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
)
_NAME_PART = (
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end "
    "with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for "
    "validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)


@pytest.mark.parametrize(
    ("rule", "text", "problems"),
    [
        (names.dns_label, "a-1", []),
        (names.dns_label, "a.b", ["must not contain dots"]),
        (names.dns_label, "UP", [_LABEL_TEXT]),
        (names.dns_label, "x" * 64, ["must be no more than 63 characters"]),
        (names.dns_label, "a\n", [_LABEL_TEXT]),
        (names.dns_subdomain, "a.b-c.d", []),
        (names.dns_subdomain, "x" * 254, ["must be no more than 253 characters"]),
        (names.dns_1035_label, "a1", []),
        (names.path_segment, "system:node", []),
        (names.path_segment, "..", ["may not be '..'"]),
        (names.path_segment, "a/b", ["may not contain '/'"]),
        (names.qualified_name, "example.com/Name_1", []),
        (names.qualified_name, "", ["name part must be non-empty", _NAME_PART]),
        (names.qualified_name, "a b", [_NAME_PART]),
        (names.qualified_name, "/x", ["prefix part must be non-empty"]),
        (names.qualified_name, "y" * 64, ["name part must be no more than 63 bytes"]),
        (names.label_value, "", []),
        (names.label_value, "x" * 64, ["must be no more than 63 bytes"]),
        (names.config_key, "..a", ["must not start with '..'"]),
        (names.config_key, ".", ["must not be '.'"]),
        (
            names.config_key,
            "..@",
            [
                "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. "
                "'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is "
                "'[-._a-zA-Z0-9]+')",
                "must not start with '..'",
            ],
        ),
        (names.port_name, "http", []),
        (
            names.port_name,
            "",
            [
                "must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)",
                "must contain at least one letter (a-z)",
            ],
        ),
        (names.port_name, "1", ["must contain at least one letter (a-z)"]),
        (names.port_name, "a--b", ["must not contain consecutive hyphens"]),
        (names.port_name, "-a", ["must not begin or end with a hyphen"]),
        (names.environment_variable, "1 odd-name", []),
        (names.environment_variable, "", ["environment variable name must be non-empty"]),
        (
            names.cidr,
            "fe80::1%eth0/64",
            ["must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"],
        ),
        (names.ip_address, "10.0.0.256", [names.IP_ADDRESS]),
        (names.ip_address, "fe80::1%eth0", [names.IP_ADDRESS]),
        (names.cidr, "10.1.2.3/8", ["must not have bits set beyond the prefix length"]),
        (names.cidr, "10.0.0.0/8", []),
        (names.ip_address, "010.0.0.1", [names.LEADING_ZEROS]),
        (names.ip_address, "2001:DB8::1", []),
        (names.cidr, "10.0.0.0", [names.CIDR_VALUE]),
        (names.wildcard_subdomain, "*.example.com", []),
    ],
)
def test_a_name_is_validated(
    rule: Callable[[str], list[str]], text: str, problems: list[str]
) -> None:
    assert rule(text) == problems


@given(st.from_regex(r"[a-z0-9]([-a-z0-9]{0,60}[a-z0-9])?", fullmatch=True))
def test_a_label_is_good_wherever_a_subdomain_or_value_is(label: str) -> None:
    assert names.dns_label(label) == []
    assert names.dns_subdomain(f"{label}.{label}"[:253].rstrip("-.")) == []
    assert names.label_value(label) == []
    assert names.qualified_name(f"example.com/{label}") == []


@given(st.text(max_size=80))
def test_any_text_is_validated_without_failing(text: str) -> None:
    for rule in (names.dns_label, names.dns_subdomain, names.qualified_name, names.label_value,
                 names.config_key, names.port_name, names.ip_address, names.cidr):  # fmt: skip
        assert isinstance(rule(text), list)
