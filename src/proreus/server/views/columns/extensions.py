"""Definitions of custom resources, aggregated services, certificates."""

from __future__ import annotations

from proreus.api.table import human_duration
from proreus.server.views.columns.cells import NONE, Object, age, condition, holds, name_of
from proreus.server.views.columns.printer import Cells, Printer, columns


def _fill_definition(obj: Object, _: float) -> Cells:
    spec = obj.get("spec") or {}
    names = spec.get("names") or {}
    versions = [
        f"{version.get('name', '')}(storage)" if version.get("storage") else version.get("name", "")
        for version in spec.get("versions") or ()
        if version.get("served") or version.get("storage")
    ]
    return [
        name_of(obj),
        spec.get("scope", ""),
        ",".join(versions),
        (obj.get("metadata") or {}).get("creationTimestamp"),
        spec.get("group", ""),
        names.get("kind", ""),
        ",".join(names.get("shortNames") or ()),
        holds(obj, "Established"),
    ]


def _fill_api_service(obj: Object, now: float) -> Cells:
    service = (obj.get("spec") or {}).get("service")
    where = "Local"
    if service:
        where = f"{service.get('namespace', '')}/{service.get('name', '')}"
    return [name_of(obj), where, _available(obj), age(obj, now)]


def _available(obj: Object) -> str:
    found = condition(obj, "Available")
    if found is None:
        return "Unknown"
    status = str(found.get("status", ""))
    return status if status == "True" else f"{status} ({found.get('reason', '')})"


def _fill_request(obj: Object, now: float) -> Cells:
    spec = obj.get("spec") or {}
    seconds = spec.get("expirationSeconds")
    return [
        name_of(obj),
        age(obj, now),
        spec.get("signerName") or NONE,
        spec.get("username", ""),
        NONE if seconds is None else human_duration(seconds),
        _request_state(obj),
    ]


def _request_state(obj: Object) -> str:
    if condition(obj, "Denied"):
        text = "Denied"
    else:
        text = "Approved" if condition(obj, "Approved") else "Pending"
    if condition(obj, "Failed"):
        text += ",Failed"
    return f"{text},Issued" if (obj.get("status") or {}).get("certificate") else text


def _fill_trust_bundle(obj: Object, _: float) -> Cells:
    return [name_of(obj), (obj.get("spec") or {}).get("signerName") or NONE]


PRINTERS: dict[tuple[str, str], Printer] = {
    ("apiextensions.k8s.io", "CustomResourceDefinition"): Printer(
        columns(
            "Name", "Scope", "Versions", "Created At:date", "Group*", "Kind*", "ShortNames*",
            "Established*:boolean",
        ),
        _fill_definition,
        null_when_empty=True,
    ),
    ("apiregistration.k8s.io", "APIService"): Printer(
        columns("Name", "Service", "Available", "Age"), _fill_api_service, null_when_empty=True
    ),
    ("certificates.k8s.io", "CertificateSigningRequest"): Printer(
        columns("Name", "Age", "SignerName", "Requestor", "RequestedDuration", "Condition"),
        _fill_request,
    ),
    ("certificates.k8s.io", "ClusterTrustBundle"): Printer(
        columns("Name", "SignerName"), _fill_trust_bundle
    ),
}  # fmt: skip
