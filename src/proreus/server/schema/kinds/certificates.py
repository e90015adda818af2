"""Certificate signing requests and resource claims."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

from proreus.api.field_error import FieldError
from proreus.api.values import names
from proreus.server.schema.kinds.findings import Findings, items
from proreus.server.schema.rules import JsonObject, Rules

Json = Mapping[str, Any]
_USAGES = frozenset(
    {"signing", "digital signature", "content commitment", "key encipherment", "key agreement",
     "data encipherment", "cert sign", "crl sign", "encipher only", "decipher only", "any",
     "server auth", "client auth", "code signing", "email protection", "s/mime",
     "ipsec end system", "ipsec tunnel", "ipsec user", "timestamping", "ocsp signing",
     "microsoft sgc", "netscape sgc"}
)  # fmt: skip
_VERDICTS = ("Approved", "Denied")
_MIN_S = 600
_CONDITIONS = "status.conditions"


def _validate_request(obj: JsonObject) -> list[FieldError]:
    found, spec = Findings(), obj["spec"]
    usages = spec.get("usages") or []
    found.require("spec.usages", usages)
    request = base64.b64decode(spec.get("request") or "")
    if b"-----BEGIN CERTIFICATE REQUEST-----" not in request:
        found.invalid(
            "spec.request",
            spec.get("request") or "",
            "PEM block type must be CERTIFICATE REQUEST",
        )
    for where, usage in items(usages, "spec.usages"):
        if usage not in _USAGES:
            found.one_of(where, usage, sorted(_USAGES))
    _check_signer(found, "spec.signerName", spec.get("signerName") or "")
    seconds = spec.get("expirationSeconds")
    if seconds is not None and seconds < _MIN_S:
        found.invalid(
            "spec.expirationSeconds",
            seconds,
            f"may not specify a duration less than {_MIN_S} seconds (10 minutes)",
        )
    _check_conditions(found, obj)
    return found


def _check_signer(found: Findings, at: str, name: str) -> None:
    if not found.require(at, name):
        return
    domain, slash, path = name.partition("/")
    if not slash or not path or "." not in domain:
        found.invalid(
            at,
            name,
            "must be a fully qualified domain and path of the form 'example.com/signer-name'",
        )
    else:
        found.name(at, domain)


def _check_conditions(found: Findings, obj: Json) -> None:
    at = _CONDITIONS
    seen: set[str] = set()
    kinds = [c.get("type") for c in (obj.get("status") or {}).get("conditions") or ()]
    for where, condition in items((obj.get("status") or {}).get("conditions"), at):
        kind = condition.get("type") or ""
        found.require(f"{where}.type", kind)
        if found.require(f"{where}.status", condition.get("status")):
            allowed = ("True",) if kind in (*_VERDICTS, "Failed") else ("False", "True", "Unknown")
            found.one_of(f"{where}.status", condition["status"], allowed)
        if kind in seen:
            found.duplicate(f"{where}.type", kind)
        seen.add(kind)
    if all(verdict in kinds for verdict in _VERDICTS):
        entries = [f'conditions[{{"type": "{verdict}"}}]' for verdict in _VERDICTS]
        found.invalid(
            at,
            "{" + ", ".join(entries) + "}",
            "must specify at most one of: " + ", ".join(f"`{entry}`" for entry in entries),
        )


def _check_kept(found: Findings, new: Json, old: Json) -> None:
    for kind in (*_VERDICTS, "Failed"):
        if len(_of_kind(new, kind)) < len(_of_kind(old, kind)):
            found.forbid(_CONDITIONS, f'updates may not remove a condition of type "{kind}"')


def _validate_status(new: JsonObject, old: JsonObject) -> list[FieldError]:
    """Whoever signs does not decide."""
    found = Findings(approval_update(new, old))
    for kind in _VERDICTS:
        if len(_of_kind(new, kind)) > len(_of_kind(old, kind)):
            found.forbid(_CONDITIONS, f'updates may not add a condition of type "{kind}"')
    return found


def approval_update(new: JsonObject, old: JsonObject) -> list[FieldError]:
    found = Findings()
    _check_conditions(found, new)
    _check_kept(found, new, old)
    certificate = (new.get("status") or {}).get("certificate")
    if certificate and b"-----BEGIN CERTIFICATE-----" not in base64.b64decode(certificate):
        found.invalid(
            "status.certificate",
            "<certificate data>",
            "must contain at least one CERTIFICATE PEM block",
        )
    before = (old.get("status") or {}).get("certificate")
    if before and certificate != before:
        found.forbid("status.certificate", "updates may not modify existing certificate content")
    return found


def _request_update(new: JsonObject, old: JsonObject) -> list[FieldError]:
    return _validate_request(new)


def _prepare_request_update(new: JsonObject, old: JsonObject) -> None:
    new["spec"] = old["spec"]  # nobody signs what was changed after it was asked for


def _keep_verdict(new: JsonObject, old: JsonObject) -> None:
    """A verdict that stands is not changed by whoever signs."""
    for kind in _VERDICTS:
        before, after = _of_kind(old, kind), _of_kind(new, kind)
        if len(before) == len(after):
            for kept, changed in zip(before, after, strict=True):
                changed.clear()
                changed.update(kept)


def _of_kind(obj: Json, kind: str) -> list[JsonObject]:
    conditions = (obj.get("status") or {}).get("conditions") or ()
    return [condition for condition in conditions if condition.get("type") == kind]


CERTIFICATE_SIGNING_REQUEST = Rules(
    prepare_update=_prepare_request_update,
    prepare_status=_keep_verdict,
    validate=_validate_request,
    validate_update=_request_update,
    validate_status=_validate_status,
)


# --- resource claims


def _default_claim_spec(spec: JsonObject) -> None:
    for request in (spec.get("devices") or {}).get("requests") or ():
        parts = [request.get("exactly"), *(request.get("firstAvailable") or ())]
        for part in parts:
            if part is None:
                continue
            if not part.get("allocationMode"):
                part["allocationMode"] = "ExactCount"
            if part["allocationMode"] == "ExactCount":
                part.setdefault("count", 1)


def _check_claim_spec(found: Findings, at: str, spec: Json) -> None:
    requests = (spec.get("devices") or {}).get("requests")
    for where, request in items(requests, f"{at}.devices.requests"):
        if found.require(f"{where}.name", request.get("name")):
            found.name(f"{where}.name", request["name"], names.dns_label)
        exactly, several = request.get("exactly"), request.get("firstAvailable")
        if (exactly is None) == (not several):
            found.require(where, None, "exactly one of `exactly` or `firstAvailable` is required")
        elif exactly is not None:
            _check_exactly(found, f"{where}.exactly", exactly)


def _check_exactly(found: Findings, at: str, request: Json) -> None:
    if found.require(f"{at}.deviceClassName", request.get("deviceClassName")):
        found.name(f"{at}.deviceClassName", request["deviceClassName"])
    count = request.get("count")
    if request.get("allocationMode") == "ExactCount" and count is not None and count <= 0:
        found.invalid(f"{at}.count", count, "must be greater than zero")
    found.one_of(f"{at}.allocationMode", request.get("allocationMode"), ("All", "ExactCount"))


def _default_claim(obj: JsonObject) -> None:
    _default_claim_spec(obj["spec"])


def _validate_claim(obj: JsonObject) -> list[FieldError]:
    found = Findings()
    _check_claim_spec(found, "spec", obj["spec"])
    return found


def _claim_update(new: JsonObject, old: JsonObject) -> list[FieldError]:
    found = Findings()
    found.immutable("spec", new.get("spec"), old.get("spec"))
    return found


RESOURCE_CLAIM = Rules(
    default=_default_claim, validate=_validate_claim, validate_update=_claim_update
)


def _default_claim_template(obj: JsonObject) -> None:
    _default_claim_spec((obj.get("spec") or {}).get("spec") or {})


def _validate_claim_template(obj: JsonObject) -> list[FieldError]:
    found = Findings()
    _check_claim_spec(found, "spec.spec", (obj.get("spec") or {}).get("spec") or {})
    return found


RESOURCE_CLAIM_TEMPLATE = Rules(
    default=_default_claim_template,
    validate=_validate_claim_template,
    validate_update=_claim_update,
)
