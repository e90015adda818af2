"""AdmissionReview: what a webhook answers, and what Kubernetes says of answers that are wrong."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from proreus.api.wire import json
from proreus.server.admission.webhooks.calling import denial
from proreus.server.admission.webhooks.configuration import read_configuration
from proreus.server.admission.webhooks.patching import (
    UndecodableOperations,
    read_operations,
)
from proreus.server.admission.webhooks.review import (
    InvalidResponse,
    ReviewResponse,
    UnreadableAnswer,
    read_response,
    review_body,
)

UID = "11111111-2222-3333-4444-555555555555"


def answer(version: str = "v1", **response: Any) -> bytes:
    return json.encode(
        {
            "kind": "AdmissionReview",
            "apiVersion": f"admission.k8s.io/{version}",
            "response": {"uid": UID, **response},
        }
    )


def read(body: bytes, *, version: str = "v1", is_mutating: bool = True) -> ReviewResponse:
    return read_response(body, UID, version, is_mutating=is_mutating)


def encoded(patch: Any) -> str:
    return base64.b64encode(json.encode(patch)).decode()


def test_an_answer_says_whether_and_with_which_patch_warnings_and_annotations() -> None:
    patch = [{"op": "add", "path": "/a", "value": 1}]
    body = answer(
        allowed=True,
        patch=encoded(patch),
        patchType="JSONPatch",
        warnings=["old"],
        auditAnnotations={"key": "value"},
        status={"code": 418, "message": "no", "unknown": 1},
    )

    found = read(body)

    assert found.is_allowed
    assert read_operations(found.patch) == patch
    assert (found.warnings, found.annotations) == (("old",), {"key": "value"})
    assert found.result == {"code": 418, "message": "no"}


def test_what_is_not_said_is_not_allowed() -> None:
    assert not read(answer()).is_allowed


@pytest.mark.parametrize(
    ("response", "why"),
    [
        ({"uid": "x"}, f'expected response.uid="{UID}", got "x"'),
        ({"uid": None}, f'expected response.uid="{UID}", got ""'),
        ({"patch": encoded([])}, "webhook returned response.patch but not response.patchType"),
        ({"patchType": "JSONPatch"}, "webhook returned response.patchType but not response.patch"),
        ({"patch": encoded([]), "patchType": ""},
         'webhook returned invalid response.patchType of ""'),
    ],
)  # fmt: skip
def test_an_answer_that_breaks_the_rules(response: dict[str, Any], why: str) -> None:
    with pytest.raises(InvalidResponse) as refused:
        read(answer(allowed=True, **response))
    assert str(refused.value) == why


@pytest.mark.parametrize("field", ["patch", "patchType"])
def test_a_validating_webhook_changes_nothing(field: str) -> None:
    with pytest.raises(
        InvalidResponse, match=f"validating webhook may not return response.{field}"
    ):
        read(answer(allowed=True, **{field: "W10="}), is_mutating=False)


def test_the_older_review_is_read_leniently() -> None:
    body = answer("v1beta1", uid="another", allowed=True, patch=encoded([]))

    assert read(body, version="v1beta1").patch_type == "JSONPatch"
    assert read(body, version="v1beta1", is_mutating=False).patch == b""
    with pytest.raises(InvalidResponse, match=r"expected webhook response of admission\.k8s"):
        read(answer("v1beta1", allowed=True))


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<html>",
        b"[]",
        b"{}",
        b'{"kind":"AdmissionReview"}',
        b'{"kind":"Pod","apiVersion":"v1"}',
        b'{"kind":5,"apiVersion":"admission.k8s.io/v1"}',
        answer(allowed="yes"),
        answer(allowed=True, patch=7, patchType="JSONPatch"),
        answer(allowed=True, patch="not base64!", patchType="JSONPatch"),
        answer(allowed=True, patchType=[]),
        answer(allowed=True, warnings="text"),
        answer(allowed=True, warnings=[1]),
        answer(allowed=True, auditAnnotations={"a": 1}),
        answer(allowed=False, status="no"),
        answer(allowed=False, status={"code": "403"}),
        answer(allowed=False, status={"code": True}),
    ],
)
def test_what_is_no_review_is_not_read(body: bytes) -> None:
    with pytest.raises(UnreadableAnswer):
        read(body)


def test_a_review_without_a_response() -> None:
    for response in (b"", b',"response":null'):
        body = b'{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1"' + response + b"}"
        with pytest.raises(InvalidResponse, match="webhook response was absent"):
            read(body)


def test_a_review_has_the_request_with_its_objects() -> None:
    made = json.decode(review_body("v1beta1", UID, {"operation": "DELETE"}, (None, {"a": 1})))

    assert made == {
        "kind": "AdmissionReview",
        "apiVersion": "admission.k8s.io/v1beta1",
        "request": {"uid": UID, "operation": "DELETE", "object": None, "oldObject": {"a": 1}},
    }


@pytest.mark.parametrize(
    ("result", "message", "code", "reason"),
    [
        ({}, "without explanation", 400, None),
        ({"message": "too big"}, ": too big", 400, None),
        ({"reason": "Invalid", "code": 422}, ": Invalid", 422, "Invalid"),
        ({"message": "no", "reason": "Gone", "code": 410}, ": no", 410, "Gone"),
        ({"message": "no", "code": 200, "status": "Success"}, ": no", 400, None),
        ({"message": "no", "code": 9999}, ": no", 500, None),
    ],
)
def test_a_refusal_carries_what_the_webhook_said(
    result: dict[str, Any], message: str, code: int, reason: str | None
) -> None:
    (webhook,) = read_configuration("c", {"webhooks": [{"name": "a.b.c"}]})

    status = denial(webhook, {**result, "details": {"kind": "pods"}}).status

    begin = 'admission webhook "a.b.c" denied the request'
    assert status["message"] == (begin + message if message[0] == ":" else f"{begin} {message}")
    assert (status["code"], status.get("reason"), status["status"]) == (code, reason, "Failure")
    assert status["details"] == {"kind": "pods"}


@pytest.mark.parametrize(
    "patch", [b"{", b"{}", b'"x"', b"[1]", b'[{"op":1}]', b"[" + b"{}," * 10_000 + b"{}]"]
)
def test_a_patch_is_a_list_of_operations(patch: bytes) -> None:
    with pytest.raises(UndecodableOperations):
        read_operations(patch)


def test_webhooks_of_one_name_are_distinguished() -> None:
    twice = {"webhooks": [{"name": "a.b.c"}, {"name": "a.b.c"}, {"name": "d.e.f"}]}

    assert [hook.uid for hook in read_configuration("c", twice)] == [
        "c/a.b.c/0",
        "c/a.b.c/1",
        "c/d.e.f/0",
    ]


def test_a_selector_that_cannot_be_read_is_a_fault_of_its_webhook() -> None:
    selector = {"matchExpressions": [{"key": "a", "operator": "Near"}]}
    (webhook,) = read_configuration("c", {"webhooks": [{"objectSelector": selector}]})

    assert webhook.fault == '"Near" is not a valid label selector operator'
