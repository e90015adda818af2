"""Which devices a resource claim asks for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from proreus.api.json_types import Json, JsonObject
from proreus.api.values import names
from proreus.server.kinds.parts.expressions import check_device_selectors
from proreus.server.kinds.parts.findings import Findings, items, repeats
from proreus.server.kinds.parts.pod_template.volumes import check_driver

_REQUESTS_MAX = _CONSTRAINTS_MAX = _CONFIGS_MAX = 32
_ALTERNATIVES_MAX = 8
_MODES = ("All", "ExactCount")
_ONE_KIND = "exactly one of `exactly` or `firstAvailable` is required"
_NO_REQUEST = (
    "must be the name of a request in the claim or the name of a request and a subrequest "
    "separated by '/'"
)
_Requests = Mapping[str, frozenset[str]]  # the names of each request's alternatives


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
    devices, at = spec.get("devices") or {}, f"{at}.devices"
    known = {
        request.get("name") or "": frozenset(
            one.get("name") or "" for one in request.get("firstAvailable") or ()
        )
        for request in devices.get("requests") or ()
    }
    for where, request in items(devices.get("requests"), f"{at}.requests"):
        _check_request(found, where, request)
    for where, constraint in items(devices.get("constraints"), f"{at}.constraints"):
        _check_references(found, f"{where}.requests", constraint.get("requests"), known)
        _check_attribute(found, where, constraint)
    for where, config in items(devices.get("config"), f"{at}.config"):
        _check_references(found, f"{where}.requests", config.get("requests"), known)
        check_device_config(found, where, config)
    for key, limit in (
        ("requests", _REQUESTS_MAX),
        ("constraints", _CONSTRAINTS_MAX),
        ("config", _CONFIGS_MAX),
    ):
        found.at_most(f"{at}.{key}", devices.get(key), limit)


def _check_request(found: Findings, at: str, request: Json) -> None:
    if found.require(f"{at}.name", request.get("name")):
        found.name(f"{at}.name", request["name"], names.dns_label)
    exactly, several = request.get("exactly"), request.get("firstAvailable")
    if exactly is None and not several:
        found.require(at, None, _ONE_KIND)
    elif exactly is not None and several:
        found.invalid(at, None, f"{_ONE_KIND}, but multiple fields are set")
    elif exactly is not None:
        _check_devices(found, f"{at}.exactly", exactly)
    else:
        for place, one in items(several, f"{at}.firstAvailable"):
            found.name(f"{place}.name", one.get("name") or "", names.dns_label)
            _check_devices(found, place, one)
        found.at_most(f"{at}.firstAvailable", several, _ALTERNATIVES_MAX)


def _check_devices(found: Findings, at: str, request: Json) -> None:
    found.required_name(f"{at}.deviceClassName", request.get("deviceClassName"))
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
            found.one_of(f"{at}.allocationMode", mode, _MODES)


def _check_references(
    found: Findings, at: str, references: list[str] | None, known: _Requests
) -> None:
    for where, reference, is_repeated in repeats(references, at):
        request, slash, alternative = reference.partition("/")
        if "/" in alternative:
            found.invalid(where, reference, _NO_REQUEST)
        else:
            for segment in reference.split("/"):
                found.name(where, segment, names.dns_label)
            if request not in known or (slash and alternative not in known[request]):
                found.invalid(where, reference, _NO_REQUEST)
        if is_repeated:
            found.duplicate(where, reference)
    found.at_most(at, references, _REQUESTS_MAX)


def _check_attribute(found: Findings, at: str, constraint: Json) -> None:
    given = [key for key in ("matchAttribute", "distinctAttribute") if constraint.get(key)]
    if not given:
        why = 'exactly one of "matchAttribute" or "distinctAttribute" is required, but multiple '
        found.require(at, None, f"{why}fields are set")  # so does Kubernetes
        return
    if "/" not in constraint[given[0]]:
        found.invalid(f"{at}.{given[0]}", constraint[given[0]], "must include a domain")


def check_device_config(found: Findings, at: str, config: Json) -> None:
    """What a driver is told, of a claim or of a class."""
    opaque, at = config.get("opaque"), f"{at}.opaque"
    if opaque is None:
        found.require(at, None)
        return
    check_driver(found, f"{at}.driver", opaque.get("driver") or "")
    if opaque.get("parameters") is None:
        found.require(f"{at}.parameters", None)
