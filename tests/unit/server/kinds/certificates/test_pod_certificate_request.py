"""Requests of kubelets for certificates of pods."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.server.kinds.creating import created, errors, status_errors, updated
from tests.unit.server.kinds.printing import cells

GROUP, VERSION = "certificates.k8s.io", "certificates.k8s.io/v1"
SPEC = {
    "signerName": "a.b/c", "podName": "p", "podUID": "1", "serviceAccountName": "s",
    "serviceAccountUID": "2", "nodeName": "n", "nodeUID": "3", "maxExpirationSeconds": 3600,
    "stubPKCS10Request": "AA==",
}  # fmt: skip


def condition(kind: str, **fields: str) -> dict[str, str]:
    return {"type": kind, "status": "True", "reason": "R", "message": "m",
            "lastTransitionTime": "2026-01-01T00:00:00Z", **fields}  # fmt: skip


@pytest.mark.parametrize(
    ("change", "problems"),
    [
        ({}, []),
        ({"podUID": ""}, ['spec.podUID: Invalid value: "": must not be empty']),
        ({"nodeUID": "x" * 129}, ["spec.nodeUID: Too long: may not be more than 128 bytes"]),
        ({"maxExpirationSeconds": 60},
         ["spec.maxExpirationSeconds: Invalid value: 60: must be in the range [3600, 7862400]"]),
        ({"maxExpirationSeconds": 86401, "signerName": "kubernetes.io/x"},
         ["spec.maxExpirationSeconds: Invalid value: 86401: must be in the range [3600, 86400]"]),
        ({"unverifiedUserAnnotations": {"a": "b"}},
         ['spec.unverifiedUserAnnotations: Invalid value: "a": must be a domain-prefixed key (such '
          'as "acme.io/foo")']),
    ],
)  # fmt: skip
def test_a_request_is_validated(change: dict[str, Any], problems: list[str]) -> None:
    assert errors(VERSION, "PodCertificateRequest", spec={**SPEC, **change}) == problems


def test_a_request_that_names_no_time_asks_for_a_day() -> None:
    spec = {key: value for key, value in SPEC.items() if key != "maxExpirationSeconds"}
    made = created(VERSION, "PodCertificateRequest", spec=spec)

    assert made["spec"]["maxExpirationSeconds"] == 86400


def test_what_is_asked_for_stays() -> None:
    _, found = updated(
        created(VERSION, "PodCertificateRequest", spec=SPEC), {"spec": {"podUID": "9"}}
    )

    assert found == ["spec: Invalid value: null: field is immutable"]


@pytest.mark.parametrize(
    ("status", "problems"),
    [
        ({"conditions": [condition("Denied")]}, []),
        ({"conditions": [condition("Odd")]},
         ['status.conditions.[0].type: Unsupported value: "Odd": supported values: "Issued", '
          '"Denied", "Failed"']),
        ({"conditions": [condition("Denied"), condition("Failed")]},
         ['status.conditions.[1].type: Invalid value: "Failed": There may be at most one condition '
          'with type "Issued", "Denied", or "Failed"']),
        ({"conditions": [condition("Denied", status="False")]},
         ['status.conditions.[0].status: Unsupported value: "False": supported values: "True"']),
        ({"conditions": [condition("Denied")], "certificateChain": "x"},
         ["status: Invalid value: non-condition status fields must be empty when denying or "
          "failing the PodCertificateRequest"]),
        ({"certificateChain": "x"},
         ['status: Invalid value: status is immutable unless transitioning to "Issued", "Denied", '
          'or "Failed"']),
        ({"conditions": [condition("Issued")], "notBefore": "2026-01-01T00:00:00Z"},
         ["status.notAfter: Required value: must be present and consistent with the issued "
          "certificate",
          "status.beginRefreshAt: Required value: must be present and in the range "
          "[notbefore+10min, notafter-10min]"]),
    ],
)  # fmt: skip
def test_a_request_ends_once(status: dict[str, Any], problems: list[str]) -> None:
    assert status_errors(created(VERSION, "PodCertificateRequest", spec=SPEC), status) == problems


def test_a_request_that_has_ended_stays_so() -> None:
    old = created(VERSION, "PodCertificateRequest", spec=SPEC)
    old["status"] = {"conditions": [condition("Denied")]}

    assert status_errors(old, {"conditions": [condition("Failed")]}) == [
        "status: Invalid value: immutable after PodCertificateRequest is issued, denied, or failed"
    ]


def test_the_columns_of_a_request() -> None:
    assert cells(GROUP, "PodCertificateRequest", {"spec": SPEC}) == [
        "x", "p", "s", "n", "a.b/c", "Pending", "<none>",
    ]  # fmt: skip
