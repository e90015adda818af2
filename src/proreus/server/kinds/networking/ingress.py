"""Ingress: hTTP routes to services."""

from __future__ import annotations

from proreus.api.field_error import FieldError
from proreus.api.json_types import Json, JsonObject
from proreus.api.values import names
from proreus.server.kinds.parts.cells import NONE, age, name_of, shortened
from proreus.server.kinds.parts.findings import Findings, items
from proreus.server.kinds.parts.load_balancer_status import (
    balancer_addresses,
    validate_load_balancer_status,
)
from proreus.server.kinds.parts.references import check_reference
from proreus.server.resource import Generation, Lifecycle, Names, Persistence, Resource, Rules
from proreus.server.resource.printer import Cells, Printer

_PATH_TYPES = ("Exact", "ImplementationSpecific", "Prefix")
_BAD_IN_PATHS = ("//", "/./", "/../", "%2f", "%2F")
_BAD_PATH_ENDS = ("/..", "/.")
_CLASS_ANNOTATION = "kubernetes.io/ingress.class"


def _check(obj: JsonObject) -> list[FieldError]:
    found, spec = Findings(), obj["spec"]
    rules, backend = spec.get("rules"), spec.get("defaultBackend")
    if not rules and backend is None:
        found.invalid("spec", rules, "either `defaultBackend` or `rules` must be specified")
    if backend is not None:
        _check_backend(found, "spec.defaultBackend", backend)
    for where, rule in items(rules, "spec.rules"):
        _check_rule(found, where, rule)
    for where, entry in items(spec.get("tls"), "spec.tls"):
        for place, host in items(entry.get("hosts"), f"{where}.hosts"):
            found.name(
                place, host, names.wildcard_subdomain if "*" in host else names.dns_subdomain
            )
        if entry.get("secretName"):
            found.name(f"{where}.secretName", entry["secretName"])
    found.name("spec.ingressClassName", spec.get("ingressClassName"))
    return found


def _validate(obj: JsonObject) -> list[FieldError]:
    found = Findings(_check(obj))
    _check_class_annotation(found, obj)
    return found


def _check_class_annotation(found: Findings, obj: Json) -> None:
    annotation = (obj["metadata"].get("annotations") or {}).get(_CLASS_ANNOTATION)
    name = obj["spec"].get("ingressClassName")
    if annotation is not None and name is not None and annotation != name:
        found.invalid(
            f"annotations.{_CLASS_ANNOTATION}",
            annotation,
            "must match `ingressClassName` when both are specified",
        )


def _check_rule(found: Findings, at: str, rule: Json) -> None:
    if host := rule.get("host"):
        if names.parse_ip(host):
            found.invalid(f"{at}.host", host, "must be a DNS name, not an IP address")
        if "*" in host:
            found.name(f"{at}.host", host, names.wildcard_subdomain)
        else:
            found.name(f"{at}.host", host)
    if (http := rule.get("http")) is None:
        return
    paths = http.get("paths")
    found.require(f"{at}.http.paths", paths)
    for where, path in items(paths, f"{at}.http.paths"):
        _check_path(found, where, path)


def _check_path(found: Findings, at: str, entry: Json) -> None:
    kind, path = entry.get("pathType"), entry.get("path") or ""
    if kind is None:
        found.require(f"{at}.pathType", None, "pathType must be specified")
        return
    match kind:
        case "Exact" | "Prefix":
            if not path.startswith("/"):
                found.invalid(f"{at}.path", path, "must be an absolute path")
            if path:
                for bad in _BAD_IN_PATHS:
                    if bad in path:
                        found.invalid(f"{at}.path", path, f"must not contain '{bad}'")
                for bad in _BAD_PATH_ENDS:
                    if path.endswith(bad):
                        found.invalid(f"{at}.path", path, f"cannot end with '{bad}'")
        case "ImplementationSpecific":
            if path and not path.startswith("/"):
                found.invalid(f"{at}.path", path, "must be an absolute path")
        case _:
            found.one_of(f"{at}.pathType", kind, _PATH_TYPES)
    _check_backend(found, f"{at}.backend", entry.get("backend") or {})


def _check_backend(found: Findings, at: str, backend: Json) -> None:
    resource, service = backend.get("resource"), backend.get("service")
    if resource is not None and service is not None:
        found.invalid(at, "", "cannot set both resource and service backends")
    elif resource is not None:
        check_reference(found, f"{at}.resource", resource)
    elif service is not None:
        _check_service(found, at, service)
    else:
        found.invalid(at, "", "resource or service backend is required")


def _check_service(found: Findings, at: str, service: Json) -> None:
    name, port = service.get("name") or "", service.get("port") or {}
    if found.require(f"{at}.service.name", name):
        found.name(f"{at}.service.name", name, names.dns_label)
    port_name, number = port.get("name") or "", port.get("number") or 0
    if port_name and number:
        found.invalid(at, "", "cannot set both port name & port number")
    elif port_name:
        found.name(f"{at}.service.port.name", port_name, names.port_name)
    elif number:
        found.port(f"{at}.service.port.number", number)
    else:
        found.require(at, None, "port name or number is required")


def _default(obj: JsonObject) -> None:
    spec = obj["spec"]
    if spec.get("rules") == [] and spec.get("defaultBackend") is not None:
        spec.pop("rules")


def _warnings(obj: JsonObject) -> list[str]:
    annotations = obj["metadata"].get("annotations") or {}
    if _CLASS_ANNOTATION in annotations and obj["spec"].get("ingressClassName") is None:
        return [
            f'annotation "{_CLASS_ANNOTATION}" is deprecated, please use '
            "'spec.ingressClassName' instead"
        ]
    return []


def _fill(obj: Json, now: float) -> Cells:
    spec = obj.get("spec") or {}
    rules = spec.get("rules") or ()
    hosts = [rule.get("host") or "" for rule in rules]
    return [
        name_of(obj),
        spec.get("ingressClassName") or NONE,
        _hosts(hosts),
        ",".join(balancer_addresses(obj)),
        "80, 443" if spec.get("tls") else "80",
        age(obj, now),
    ]


def _hosts(hosts: list[str]) -> str:
    """The first three; rules without a host count only where rules follow the third."""
    named = [at for at, host in enumerate(hosts) if host]
    if not named:
        return "*"
    is_cut = len(named) >= 3 and len(hosts) > named[2] + 1
    return shortened([hosts[at] for at in named[:3]], total=len(hosts) if is_cut else 0)


RESOURCES = (
    Resource(
        names=Names.of("networking.k8s.io", "v1", "Ingress", "ingresses", "ing"),
        namespaced=True,
        has_status=True,
        persistence=Persistence(prefix="ingress"),
        lifecycle=Lifecycle(generation=Generation()),
        rules=Rules(
            default=_default,
            validate=_validate,
            validate_update=lambda new, _: _check(new),
            validate_status=validate_load_balancer_status,
            warnings_on_create=_warnings,
        ),
        printer=Printer.of(_fill, "Name", "Class", "Hosts", "Address", "Ports", "Age"),
    ),
)
