"""Which devices a resource claim asks for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from proreus.api import field_error
from proreus.api.json_types import Json, JsonObject
from proreus.api.values import names
from proreus.api.wire import json
from proreus.server.kinds.parts.devices import check_qualified_name, check_toleration
from proreus.server.kinds.parts.expressions import check_device_selectors
from proreus.server.kinds.parts.findings import Findings, items, repeats
from proreus.server.kinds.parts.pod_template.volumes import check_driver

_REQUESTS_MAX = _CONSTRAINTS_MAX = _CONFIGS_MAX = 32
_ALTERNATIVES_MAX = 8
_POOL_NAME_MAX = 253
_PARAMETERS_MAX = 10 * 1024
_MODES = ("All", "ExactCount")
_ONE_KIND = "exactly one of `exactly` or `firstAvailable` is required"
_NO_REQUEST = (
    "must be the name of a request in the claim or the name of a request and a subrequest "
    "separated by '/'"
)
Requests = Mapping[str, frozenset[str]]  # the names of each request's alternatives


def default_claim_spec(spec: JsonObject) -> None:
    for request in (spec.get("devices") or {}).get("requests") or ():
        for part in _parts(request):
            if not part.get("allocationMode"):
                part["allocationMode"] = "ExactCount"
            if part["allocationMode"] == "ExactCount" and not part.get("count"):
                part["count"] = 1
            for toleration in part.get("tolerations") or ():
                toleration.setdefault("operator", "Equal")


def _parts(request: JsonObject) -> Iterator[JsonObject]:
    if (exactly := request.get("exactly")) is not None:
        yield exactly
    yield from request.get("firstAvailable") or ()


def check_claim_spec(found: Findings, at: str, spec: Json) -> None:
    """What Kubernetes' types declare comes last."""
    devices, at, known = spec.get("devices") or {}, f"{at}.devices", requests_of(spec)
    declared = Findings()
    requests = few(declared, f"{at}.requests", devices.get("requests"), _REQUESTS_MAX)
    for where, request in items(requests, f"{at}.requests"):
        _check_request(found, declared, where, request)
    _check_names(declared, f"{at}.requests", requests)
    constraints = few(declared, f"{at}.constraints", devices.get("constraints"), _CONSTRAINTS_MAX)
    for where, constraint in items(constraints, f"{at}.constraints"):
        check_references(found, declared, f"{where}.requests", constraint.get("requests"), known)
        _check_attribute(found, declared, where, constraint)
    configs = few(declared, f"{at}.config", devices.get("config"), _CONFIGS_MAX)
    for where, config in items(configs, f"{at}.config"):
        check_references(found, declared, f"{where}.requests", config.get("requests"), known)
        check_device_config(found, declared, where, config)
    found += declared


def requests_of(spec: Json) -> Requests:
    return {
        request.get("name") or "": frozenset(
            one.get("name") or "" for one in request.get("firstAvailable") or ()
        )
        for request in (spec.get("devices") or {}).get("requests") or ()
    }


def few(declared: Findings, at: str, values: list[Any] | None, limit: int) -> list[Any]:
    """None of them if they are too many."""
    declared.at_most(at, values, limit)
    return values if values and len(values) <= limit else []


def _check_names(declared: Findings, at: str, requests: list[Json]) -> None:
    given = [request.get("name") or "" for request in requests]
    for (where, _, is_repeated), request in zip(repeats(given, at), requests, strict=True):
        if is_repeated:
            declared.duplicate(where, request)


def _check_request(found: Findings, declared: Findings, at: str, request: Json) -> None:
    if found.require(f"{at}.name", request.get("name")):
        found.name(f"{at}.name", request["name"], names.dns_label)
    exactly, several = request.get("exactly"), request.get("firstAvailable")
    if exactly is None and not several:
        found.require(at, None, _ONE_KIND)
    elif exactly is not None and several:
        found.invalid(at, None, f"{_ONE_KIND}, but multiple fields are set")
    elif exactly is not None:
        found.required_name(f"{at}.exactly.deviceClassName", exactly.get("deviceClassName"))
        _check_devices(found, declared, f"{at}.exactly", exactly)
    else:
        at = f"{at}.firstAvailable"
        alternatives = few(declared, at, several, _ALTERNATIVES_MAX)
        for place, one in items(alternatives, at):
            found.name(f"{place}.name", one.get("name") or "", names.dns_label)
            declared.required_name(f"{place}.deviceClassName", one.get("deviceClassName"))
            _check_devices(found, declared, place, one)
        _check_names(declared, at, alternatives)


def _check_devices(found: Findings, declared: Findings, at: str, request: Json) -> None:
    check_device_selectors(found, f"{at}.selectors", request.get("selectors"))
    mode, count = request.get("allocationMode"), request.get("count") or 0
    match mode:
        case "All":
            if count:
                why = "must not be specified when allocationMode is 'All'"
                found.invalid(f"{at}.count", count, why)
        case "ExactCount":
            if count <= 0:
                found.invalid(f"{at}.count", count, "must be greater than zero")
        case _:
            declared.one_of(f"{at}.allocationMode", mode, _MODES)
    for where, toleration in items(request.get("tolerations"), f"{at}.tolerations"):
        check_toleration(found, declared, where, toleration)


def check_references(
    found: Findings, declared: Findings, at: str, references: list[str] | None, known: Requests
) -> None:
    for where, reference, is_repeated in repeats(few(declared, at, references, _REQUESTS_MAX), at):
        check_reference(found, where, reference, known)
        if is_repeated:
            declared.duplicate(where, reference)


def check_reference(found: Findings, at: str, reference: str, known: Requests) -> None:
    request, slash, alternative = reference.partition("/")
    if "/" in alternative:
        found.invalid(at, reference, _NO_REQUEST)
        return
    for segment in reference.split("/"):
        found.name(at, segment, names.dns_label)
    if request not in known or (slash and alternative not in known[request]):
        found.invalid(at, reference, _NO_REQUEST)


def _check_attribute(found: Findings, declared: Findings, at: str, constraint: Json) -> None:
    if (same := constraint.get("matchAttribute")) is not None:
        _check_domain_and_name(declared, f"{at}.matchAttribute", same)
    elif (distinct := constraint.get("distinctAttribute")) is not None:
        _check_domain_and_name(found, f"{at}.distinctAttribute", distinct)
    else:
        why = 'exactly one of "matchAttribute" or "distinctAttribute" is required, but multiple '
        found.require(at, None, f"{why}fields are set")  # so does Kubernetes


def _check_domain_and_name(found: Findings, at: str, name: str) -> None:
    check_qualified_name(found, at, name)
    if "/" not in name:
        why = "a fully qualified name must be a domain and a name separated by a slash"
        found.invalid(at, name, why)


def check_device_config(found: Findings, declared: Findings, at: str, config: Json) -> None:
    """What a driver is told, of a claim or of a class."""
    opaque, at = config.get("opaque"), f"{at}.opaque"
    if opaque is None:
        found.require(at, None)
        return
    check_driver(declared, f"{at}.driver", opaque.get("driver") or "")
    parameters, at = opaque.get("parameters"), f"{at}.parameters"
    if parameters is None:
        found.require(at, None)
    elif len(json.encode(parameters)) > _PARAMETERS_MAX:
        found.append(field_error.too_long(at, _PARAMETERS_MAX))
    elif not isinstance(parameters, dict):
        found.invalid(at, "<value omitted>", "must be a valid JSON object")


def check_pool_name(found: Findings, at: str, name: str) -> None:
    if found.require(at, name):
        if len(name) > _POOL_NAME_MAX:
            found.append(field_error.too_long(at, _POOL_NAME_MAX))
        for part in name.split("/"):
            found.name(at, part)
