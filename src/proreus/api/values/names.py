"""The grammars of names: labels, annotations, DNS names, path segments.

Each function returns what is wrong, in Kubernetes' words, as a list; empty means legal.
"""

from __future__ import annotations

import re

LABEL_MAX = 63
SUBDOMAIN_MAX = 253

_DNS_LABEL = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_DNS_SUBDOMAIN = rf"{_DNS_LABEL}(\.{_DNS_LABEL})*"
_DNS_1035 = r"[a-z]([-a-z0-9]*[a-z0-9])?"
_QUALIFIED = r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_LABEL_VALUE = rf"({_QUALIFIED})?"

_MATCH_DNS_LABEL = re.compile(_DNS_LABEL).fullmatch
_MATCH_DNS_SUBDOMAIN = re.compile(_DNS_SUBDOMAIN).fullmatch
_MATCH_DNS_1035 = re.compile(_DNS_1035).fullmatch
_MATCH_QUALIFIED = re.compile(_QUALIFIED).fullmatch
_MATCH_LABEL_VALUE = re.compile(_LABEL_VALUE).fullmatch

_QUALIFIED_TEXT = (
    "must consist of alphanumeric characters, '-', '_' or '.', "
    "and must start and end with an alphanumeric character"
)
_LABEL_VALUE_TEXT = (
    "a valid label must be an empty string or consist of alphanumeric characters, "
    "'-', '_' or '.', and must start and end with an alphanumeric character"
)
_DNS_LABEL_TEXT = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', "
    "and must start and end with an alphanumeric character"
)
_DNS_SUBDOMAIN_TEXT = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, "
    "'-' or '.', and must start and end with an alphanumeric character"
)
_DNS_1035_TEXT = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', "
    "start with an alphabetic character, and end with an alphanumeric character"
)


def qualified_name_errors(name: str) -> list[str]:
    """A label key, annotation key or finalizer: ``[prefix/]name``."""
    parts = name.split("/")
    if len(parts) > 2:
        text = _with_regex(_QUALIFIED_TEXT, _QUALIFIED, "MyName", "my.name", "123-abc")
        tail = " with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
        return [f"a valid label key {text}{tail}"]
    errors: list[str] = []
    if len(parts) == 2:
        prefix = parts[0]
        if not prefix:
            errors.append("prefix part must be non-empty")
        else:
            errors += [f"prefix part {problem}" for problem in dns_subdomain_errors(prefix)]
    local = parts[-1]
    if not local:
        errors.append("name part must be non-empty")
    elif len(local.encode()) > LABEL_MAX:
        errors.append(f"name part must be no more than {LABEL_MAX} bytes")
    if not _MATCH_QUALIFIED(local):
        text = _with_regex(_QUALIFIED_TEXT, _QUALIFIED, "MyName", "my.name", "123-abc")
        errors.append(f"name part {text}")
    return errors


def label_value_errors(value: str) -> list[str]:
    errors: list[str] = []
    if len(value.encode()) > LABEL_MAX:
        errors.append(f"must be no more than {LABEL_MAX} bytes")
    if not _MATCH_LABEL_VALUE(value):
        examples = ("MyValue", "my_value", "12345")
        errors.append(_with_regex(_LABEL_VALUE_TEXT, _LABEL_VALUE, *examples))
    return errors


def dns_label_errors(value: str) -> list[str]:
    """RFC 1123 label: namespaces, container names, service names."""
    errors = _too_long(value, LABEL_MAX)
    if not _MATCH_DNS_LABEL(value):
        errors.append(_with_regex(_DNS_LABEL_TEXT, _DNS_LABEL, "my-name", "123-abc"))
    return errors


def dns_subdomain_errors(value: str) -> list[str]:
    """RFC 1123 subdomain: the name of most objects."""
    errors = _too_long(value, SUBDOMAIN_MAX)
    if not _MATCH_DNS_SUBDOMAIN(value):
        errors.append(_with_regex(_DNS_SUBDOMAIN_TEXT, _DNS_SUBDOMAIN, "example.com"))
    return errors


def dns_1035_label_errors(value: str) -> list[str]:
    errors = _too_long(value, LABEL_MAX)
    if not _MATCH_DNS_1035(value):
        errors.append(_with_regex(_DNS_1035_TEXT, _DNS_1035, "my-name", "abc-123"))
    return errors


def path_segment_errors(value: str) -> list[str]:
    """What can stand between two slashes of a URL: RBAC names, and every name at least."""
    if value in (".", ".."):
        return [f"may not be '{value}'"]
    return [f"may not contain '{bad}'" for bad in ("/", "%") if bad in value]


def _too_long(value: str, limit: int) -> list[str]:
    return [f"must be no more than {limit} characters"] if len(value) > limit else []


def _with_regex(text: str, pattern: str, *examples: str) -> str:
    # Kubernetes joins examples with ",  or "; clients have learned to live with the two blanks.
    shown = ",  or ".join(f"'{example}'" for example in examples)
    return f"{text} (e.g. {shown}, regex used for validation is '{pattern}')"
