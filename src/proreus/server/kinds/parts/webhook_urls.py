"""Where a webhook is called, if it is a URL."""

from __future__ import annotations

import re

from proreus.api import field_error
from proreus.api.field_error import FieldError
from proreus.api.values.urls import url_fault

_PARTS = re.compile(
    r"(?:(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*):)?(?://(?P<authority>[^/?#]*))?[^?#]*"
    r"(?:\?(?P<query>[^#]*))?(?:#(?P<fragment>.*))?",
    re.DOTALL,
)
_FORM = "; desired format: https://host[/path]"


def webhook_url_errors(at: str, url: str) -> list[FieldError]:
    if reason := url_fault(url):
        return [field_error.required(at, f"url must be a valid URL: {reason}{_FORM}")]
    found, parts = list[FieldError](), next(_PARTS.finditer(url)).groupdict("")
    scheme = parts["scheme"].lower()
    if scheme != "https":
        why = f"'https' is the only allowed URL scheme{_FORM}"
        found.append(field_error.invalid(at, scheme, why))
    user, _, host = parts["authority"].rpartition("@")
    if not host:
        found.append(field_error.invalid(at, host, f"host must be specified{_FORM}"))
    for value, why in (
        (user, "user information is not permitted in the URL"),
        (parts["fragment"], "fragments are not permitted in the URL"),
        (parts["query"], "query parameters are not permitted in the URL"),
    ):
        if value:
            found.append(field_error.invalid(at, value, why))
    return found
