"""PodCertificateRequest: a kubelet's request for a certificate of a pod.

What its signing request and the certificate say is not read: the signer does that.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from proreus.api import field_error
from proreus.api.field_error import FieldError, Reason
from proreus.api.json_types import Json, JsonObject
from proreus.api.values import names
from proreus.server.kinds.parts.cells import name_of, pairs
from proreus.server.kinds.parts.conditions import check_conditions, is_true
from proreus.server.kinds.parts.findings import Findings, immutable_spec, items
from proreus.server.kinds.parts.signers import check_signer, longest_certificate_s
from proreus.server.resource import Cells, Lifecycle, Names, Printer, Resource, Rules, at_paths

_FIELDS = replace(at_paths("spec.nodeName", "spec.podName", "spec.signerName"), by_namespace=False)
_UID_MAX = 128
_SHORTEST_S, _DEFAULT_S = 3600, 86400
_ANNOTATIONS_MAX = 256 * 1024
_ENDS = ("Issued", "Denied", "Failed")
_ONE_END = 'There may be at most one condition with type "Issued", "Denied", or "Failed"'


def _default(obj: JsonObject) -> None:
    obj["spec"].setdefault("maxExpirationSeconds", _DEFAULT_S)


def _validate(obj: JsonObject) -> list[FieldError]:
    found, spec = Findings(), obj["spec"]
    check_signer(found, "spec.signerName", spec.get("signerName") or "")
    _check_annotations(found, "spec.unverifiedUserAnnotations", spec)
    for who in ("pod", "serviceAccount", "node"):
        found.name(f"spec.{who}Name", spec.get(f"{who}Name") or "")
        uid, at = spec.get(f"{who}UID") or "", f"spec.{who}UID"
        if not uid:
            found.invalid(at, uid, "must not be empty")
        if len(uid) > _UID_MAX:
            found.append(field_error.too_long(at, _UID_MAX))
    at, seconds = "spec.maxExpirationSeconds", spec["maxExpirationSeconds"]
    longest_s = longest_certificate_s(spec.get("signerName") or "")
    if not _SHORTEST_S <= seconds <= longest_s:
        found.invalid(at, seconds, f"must be in the range [{_SHORTEST_S}, {longest_s}]")
    return found


def _check_annotations(found: Findings, at: str, spec: Json) -> None:
    """As annotations, but each of a domain."""
    annotations: Mapping[str, str] = spec.get("unverifiedUserAnnotations") or {}
    for key in sorted(key.lower() for key in annotations):
        before = len(found)
        found.name(at, key, names.qualified_name)
        if len(found) == before and "/" not in key:
            found.invalid(at, key, 'must be a domain-prefixed key (such as "acme.io/foo")')
    if sum(len((key + text).encode()) for key, text in annotations.items()) > _ANNOTATIONS_MAX:
        found.append(field_error.too_long(at, _ANNOTATIONS_MAX))


def _validate_status(new: JsonObject, old: JsonObject) -> list[FieldError]:
    """Once it is issued, denied or failed it stays so, and nothing else changes before."""
    found, status, before = Findings(), new.get("status") or {}, old.get("status") or {}
    conditions = status.get("conditions") or []
    ends = 0
    for where, condition in items(conditions, "status.conditions."):
        kind = condition.get("type") or ""
        if kind not in _ENDS:
            found.one_of(f"{where}.type", kind, _ENDS)
            continue
        ends += 1
        if ends > 1:
            found.invalid(f"{where}.type", kind, _ONE_END)
        found.one_of(f"{where}.status", condition.get("status") or "", ("True",))
    check_conditions(found, "status.conditions", conditions)
    if found:
        return found
    if any(is_true(before.get("conditions"), kind) for kind in _ENDS):
        why = "immutable after PodCertificateRequest is issued, denied, or failed"
        _check_same(found, status, before, why)
    elif is_true(conditions, "Denied") or is_true(conditions, "Failed"):
        why = "non-condition status fields must be empty when denying or failing the "
        _check_same(found, status, {"conditions": conditions}, f"{why}PodCertificateRequest")
    elif is_true(conditions, "Issued"):
        _check_times(found, status)
    else:
        why = 'status is immutable unless transitioning to "Issued", "Denied", or "Failed"'
        _check_same(found, status, before, why)
    return found


def _check_same(found: Findings, status: Json, wanted: Json, why: str) -> None:
    if {k: v for k, v in status.items() if v} != {k: v for k, v in wanted.items() if v}:
        found.append(FieldError("status", Reason.INVALID, f"Invalid value: {why}"))


def _check_times(found: Findings, status: Json) -> None:
    consistent = "must be present and consistent with the issued certificate"
    found.require("status.notBefore", status.get("notBefore"), consistent)
    found.require("status.notAfter", status.get("notAfter"), consistent)
    why = "must be present and in the range [notbefore+10min, notafter-10min]"
    found.require("status.beginRefreshAt", status.get("beginRefreshAt"), why)


def _fill(obj: Json, _: float) -> Cells:
    spec, conditions = obj.get("spec") or {}, (obj.get("status") or {}).get("conditions") or ()
    states = [kind for one in conditions if (kind := one.get("type")) in _ENDS]
    return [
        name_of(obj),
        *(spec.get(key) or "" for key in ("podName", "serviceAccountName", "nodeName")),
        spec.get("signerName") or "",
        (states or ["Pending"])[-1],
        pairs(spec.get("unverifiedUserAnnotations")),
    ]


RESOURCES = (
    Resource(
        names=Names.of(
            "certificates.k8s.io", "v1", "PodCertificateRequest", "podcertificaterequests"
        ),
        namespaced=True,
        has_status=True,
        lifecycle=Lifecycle(unconditional_update=False, status_keeps_metadata=True),
        selectable=_FIELDS,
        rules=Rules(
            default=_default,
            validate=_validate,
            validate_update=immutable_spec,
            validate_status=_validate_status,
        ),
        printer=Printer.of(
            _fill, "Name", "PodName", "ServiceAccountName", "NodeName", "SignerName", "State",
            "UnverifiedUserAnnotations",
        ),
    ),
)  # fmt: skip
