"""Ingresses and ingress classes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from proreus.api import field_error
from proreus.api.field_error import FieldError
from proreus.api.values import names
from proreus.server.schema.kinds.findings import Findings, items
from proreus.server.schema.kinds.service_validation import check_load_balancer_status
from proreus.server.schema.rules import JsonObject, Rules

Json = Mapping[str, Any]
_PATH_TYPES = ("Exact", "ImplementationSpecific", "Prefix")
_BAD_IN_PATHS = ("//", "/./", "/../", "%2f", "%2F")
_BAD_PATH_ENDS = ("/..", "/.")
_CLASS_ANNOTATION = "kubernetes.io/ingress.class"
_CONTROLLER_MAX = 250


def _validate(obj: JsonObject) -> list[FieldError]:
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


def _validate_create(obj: JsonObject) -> list[FieldError]:
    found = Findings(_validate(obj))
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
        _check_reference(found, f"{at}.resource", resource)
    elif service is not None:
        _check_service(found, at, service)
    else:
        found.invalid(at, "", "resource or service backend is required")


def _check_reference(found: Findings, at: str, reference: Json) -> None:
    found.name(f"{at}.apiGroup", reference.get("apiGroup"))
    for key in ("kind", "name"):
        found.required_name(f"{at}.{key}", reference.get(key), names.path_segment)


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


def _validate_status(new: JsonObject, old: JsonObject) -> list[FieldError]:
    found = Findings()
    check_load_balancer_status(found, new)
    return found


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


INGRESS = Rules(
    default=_default,
    validate=_validate_create,
    validate_update=lambda new, _: _validate(new),
    validate_status=_validate_status,
    warnings_on_create=_warnings,
)


# --- ingress classes


def _default_class(obj: JsonObject) -> None:
    if (parameters := obj["spec"].get("parameters")) is not None:
        parameters.setdefault("scope", "Cluster")


def _validate_class(obj: JsonObject) -> list[FieldError]:
    found, spec = Findings(), obj["spec"]
    controller = spec.get("controller") or ""
    if found.require("spec.controller", controller):
        if len(controller.encode()) > _CONTROLLER_MAX:
            found.append(field_error.too_long("spec.controller", _CONTROLLER_MAX))
        found.domain_prefixed_path("spec.controller", controller)
    if (parameters := spec.get("parameters")) is not None:
        _check_parameters(found, "spec.parameters", parameters)
    return found


def _check_parameters(found: Findings, at: str, parameters: Json) -> None:
    _check_reference(found, at, parameters)
    scope, namespace = parameters.get("scope"), parameters.get("namespace")
    found.required_one_of(f"{at}.scope", scope, ("Cluster", "Namespace"))
    if scope == "Namespace":
        if namespace is None:
            found.require(f"{at}.namespace", None, "`parameters.scope` is set to 'Namespace'")
        else:
            found.name(f"{at}.namespace", namespace, names.dns_label)
    elif scope == "Cluster" and namespace is not None:
        found.forbid(f"{at}.namespace", "`parameters.scope` is set to 'Cluster'")


def _class_update(new: JsonObject, old: JsonObject) -> list[FieldError]:
    found = Findings()
    found.immutable("spec.controller", new["spec"].get("controller"), old["spec"].get("controller"))
    return [*found, *_validate_class(new)]


INGRESS_CLASS = Rules(
    default=_default_class, validate=_validate_class, validate_update=_class_update
)
