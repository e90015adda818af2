"""CertificateSigningRequest: a request for a certificate; ``/approval`` approves or denies it."""

from __future__ import annotations

import base64

from proreus.api.field_error import FieldError
from proreus.api.json_types import Json, JsonObject
from proreus.api.signers import LEGACY_UNKNOWN
from proreus.api.table import human_duration
from proreus.api.values import names
from proreus.server.kinds.parts.cells import NONE, age, condition, name_of
from proreus.server.kinds.parts.findings import Findings, items, repeats
from proreus.server.kinds.parts.pem import certificate_fault, signing_request_fault
from proreus.server.kinds.parts.signers import check_signer
from proreus.server.resource import Names, PartialUpdate, Resource, Rules, Subresource, at_paths
from proreus.server.resource.printer import Cells, Printer
from proreus.server.resource.restore import restore_all_but
from proreus.server.resource.subresource import READ_WRITE

_USAGES = frozenset(
    {"signing", "digital signature", "content commitment", "key encipherment", "key agreement",
     "data encipherment", "cert sign", "crl sign", "encipher only", "decipher only", "any",
     "server auth", "client auth", "code signing", "email protection", "s/mime",
     "ipsec end system", "ipsec tunnel", "ipsec user", "timestamping", "ocsp signing",
     "microsoft sgc", "netscape sgc"}
)  # fmt: skip
_DECISIONS = ("Approved", "Denied")
_MIN_S = 600
_CONDITIONS = "status.conditions"


def _validate(obj: JsonObject) -> list[FieldError]:
    found, spec = Findings(), obj["spec"]
    request = spec.get("request") or ""
    if fault := signing_request_fault(base64.b64decode(request)):
        found.invalid("spec.request", request, fault)
    _check_spec(found, spec)
    _check_conditions(found, obj)
    return found


def _check_spec(found: Findings, spec: Json) -> None:
    usages = spec.get("usages") or []
    found.require("spec.usages", usages)
    for where, usage in items(usages, "spec.usages"):
        if usage not in _USAGES:
            found.one_of(where, usage, sorted(_USAGES))
    for where, usage, is_repeated in repeats(usages, "spec.usages"):
        if is_repeated:
            found.duplicate(where, usage)
    if (signer := spec.get("signerName") or "") == LEGACY_UNKNOWN:
        why = "the legacy signerName is not allowed via this API version"
        found.invalid("spec.signerName", signer, why)
    else:
        check_signer(found, "spec.signerName", signer)
    seconds = spec.get("expirationSeconds")
    if seconds is not None and seconds < _MIN_S:
        found.invalid(
            "spec.expirationSeconds",
            seconds,
            f"may not specify a duration less than {_MIN_S} seconds (10 minutes)",
        )


def _check_conditions(found: Findings, obj: Json) -> None:
    at = _CONDITIONS
    seen: set[str] = set()
    kinds = [c.get("type") for c in (obj.get("status") or {}).get("conditions") or ()]
    for where, entry in items((obj.get("status") or {}).get("conditions"), at):
        kind = entry.get("type") or ""
        found.require(f"{where}.type", kind)
        if found.require(f"{where}.status", entry.get("status")):
            allowed = ("True",) if kind in (*_DECISIONS, "Failed") else ("False", "True", "Unknown")
            found.one_of(f"{where}.status", entry["status"], allowed)
        if kind in seen:
            found.duplicate(f"{where}.type", kind)
        seen.add(kind)
    if all(decision in kinds for decision in _DECISIONS):
        entries = [f'conditions[{{"type": "{decision}"}}]' for decision in _DECISIONS]
        found.invalid(
            at,
            "{" + ", ".join(entries) + "}",
            "must specify at most one of: " + ", ".join(f"`{entry}`" for entry in entries),
        )


def _check_kept(found: Findings, new: Json, old: Json) -> None:
    for kind in (*_DECISIONS, "Failed"):
        if len(_of_kind(new, kind)) < len(_of_kind(old, kind)):
            found.forbid(_CONDITIONS, f'updates may not remove a condition of type "{kind}"')


def _validate_status(new: JsonObject, old: JsonObject) -> list[FieldError]:
    """A signer may not approve or deny."""
    found = Findings(_validate_approval(new, old))
    for kind in _DECISIONS:
        if len(_of_kind(new, kind)) > len(_of_kind(old, kind)):
            found.forbid(_CONDITIONS, f'updates may not add a condition of type "{kind}"')
    return found


def _validate_approval(new: JsonObject, old: JsonObject) -> list[FieldError]:
    found = Findings()
    _check_conditions(found, new)
    certificate = (new.get("status") or {}).get("certificate")
    before = (old.get("status") or {}).get("certificate")
    if certificate and certificate != before:
        fault = certificate_fault(base64.b64decode(certificate))
        if fault and not (before and certificate_fault(base64.b64decode(before))):
            found.invalid("status.certificate", "<certificate data>", fault)
    _check_kept(found, new, old)
    if before and certificate != before:
        found.forbid("status.certificate", "updates may not modify existing certificate content")
    return found


def _validate_update(new: JsonObject, old: JsonObject) -> list[FieldError]:
    """Only the conditions: the spec cannot change."""
    found = Findings()
    _check_conditions(found, new)
    return found


def _keep_spec(new: JsonObject, old: JsonObject) -> None:
    new["spec"] = old["spec"]  # what was requested does not change before it is signed


def _keep_decision(new: JsonObject, old: JsonObject) -> None:
    """A signer cannot change a decision that was made."""
    for kind in _DECISIONS:
        before, after = _of_kind(old, kind), _of_kind(new, kind)
        if len(before) == len(after):
            for kept, changed in zip(before, after, strict=True):
                changed.clear()
                changed.update(kept)


def _of_kind(obj: Json, kind: str) -> list[JsonObject]:
    conditions = (obj.get("status") or {}).get("conditions") or ()
    return [condition for condition in conditions if condition.get("type") == kind]


_APPROVAL = PartialUpdate(
    reset=lambda new, old: restore_all_but(new, old, "status", "conditions"),
    validate=_validate_approval,
)


def _fill(obj: Json, now: float) -> Cells:
    spec = obj.get("spec") or {}
    seconds = spec.get("expirationSeconds")
    return [
        name_of(obj),
        age(obj, now),
        spec.get("signerName") or NONE,
        spec.get("username", ""),
        NONE if seconds is None else human_duration(seconds),
        _state(obj),
    ]


def _state(obj: Json) -> str:
    if condition(obj, "Denied"):
        text = "Denied"
    else:
        text = "Approved" if condition(obj, "Approved") else "Pending"
    if condition(obj, "Failed"):
        text += ",Failed"
    return f"{text},Issued" if (obj.get("status") or {}).get("certificate") else text


_NAMES = Names.of(
    "certificates.k8s.io", "v1", "CertificateSigningRequest", "certificatesigningrequests", "csr"
)

RESOURCES = (
    Resource(
        names=_NAMES,
        namespaced=False,
        subresources=(
            Subresource(name="approval", kind=_NAMES.gvk, verbs=READ_WRITE, update=_APPROVAL),
        ),
        has_status=True,
        selectable=at_paths("spec.signerName"),
        name_rule=names.path_segment,
        rules=Rules(
            prepare_update=_keep_spec,
            prepare_status=_keep_decision,
            validate=_validate,
            validate_update=_validate_update,
            validate_status=_validate_status,
        ),
        printer=Printer.of(
            _fill, "Name", "Age", "SignerName", "Requestor", "RequestedDuration", "Condition"
        ),
    ),
)
