"""Where a webhook is called: a URL, or a service of the cluster."""

from __future__ import annotations

import re

from proreus.api import field_error
from proreus.api.field_error import FieldError
from proreus.api.json_types import Json
from proreus.api.values import names
from proreus.api.values.urls import url_fault

_PARTS = re.compile(
    r"(?:(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*):)?(?://(?P<authority>[^/?#]*))?[^?#]*"
    r"(?:\?(?P<query>[^#]*))?(?:#(?P<fragment>.*))?",
    re.DOTALL,
)
_PORTS = range(1, 65536)
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


def webhook_service_errors(at: str, service: Json) -> list[FieldError]:
    # Kubernetes 1.37 takes name and namespace for each other here, and clients see it.
    swapped = {"name": service.get("namespace"), "namespace": service.get("name")}
    found = [
        field_error.required(f"{at}.{key}", f"service {key} is required")
        for key, value in swapped.items()
        if not value
    ]
    port = service.get("port", 443)
    if port not in _PORTS:
        why = f"port is not valid: {names.PORT_RANGE}"
        found.append(field_error.invalid(f"{at}.port", port, why))
    path = service.get("path") or ""
    return found + [field_error.invalid(f"{at}.path", path, why) for why in _path_faults(path)]


def _path_faults(path: str) -> list[str]:
    if path in ("", "/"):
        return []
    if path == "//":
        return ["segment[0] may not be empty"]
    found = [] if path.startswith("/") else ["must start with a '/'"]
    for index, step in enumerate(path[1:].removesuffix("/").split("/")):
        if not step:
            found.append(f"segment[{index}] may not be empty")
        found += [f"segment[{index}]: {why}" for why in names.dns_subdomain(step) if step]
    return found
