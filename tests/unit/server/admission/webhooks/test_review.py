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
    assert found.result == {"code": 418, "message": "no", "metadata": {}}


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
    with pytest.raises(UnreadableAnswer) as refused:
        read(answer("v1beta1", allowed=True))
    assert str(refused.value) == (
        "converting (v1beta1.AdmissionReview) to (v1.AdmissionReview): unknown conversion"
    )


NO_TYPE = (
    'Go value of type struct { APIVersion string "json:\\"apiVersion,omitempty\\""; '
    'Kind string "json:\\"kind,omitempty\\"" }'
)
PARSING = "couldn't get version/kind; json parse error: "
CANNOT = "json: cannot unmarshal"
FIELD = "into Go struct field AdmissionResponse.response"
STATUS = "into Go struct field Status.response.status"


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (b"<html>", f"{PARSING}{CANNOT} string into {NO_TYPE}"),
        (b"[]", f"{PARSING}{CANNOT} array into {NO_TYPE}"),
        (b'{"kind"', f"{PARSING}unexpected end of JSON input"),
        (b"{} x", f"{PARSING}invalid character 'x' after top-level value"),
        (b'{"kind":"Pod","apiVersion":"v1"}',
         'no kind "Pod" is registered for version "v1" in scheme '
         '"k8s.io/apiserver/pkg/util/webhook/client.go:71"'),
        (b'{"kind":"Status","apiVersion":"v1"}',
         "converting (v1.Status) to (v1.AdmissionReview): unknown conversion"),
        (b'{"kind":"AdmissionReview","apiVersion":"a/b/c"}',
         "unexpected GroupVersion string: a/b/c"),
        (b'{"kind":5,"apiVersion":"admission.k8s.io/v1"}',
         f"{PARSING}{CANNOT} number into Go struct field .kind of type string"),
        (answer(allowed="yes"), f"{CANNOT} string {FIELD}.allowed of type bool"),
        (answer(uid=5), f"{CANNOT} number {FIELD}.uid of type types.UID"),
        (answer(patch=7), f"{CANNOT} number {FIELD}.patch of type []uint8"),
        (answer(patch="not base64!"), "illegal base64 data at input byte 3"),
        (answer(patchType=[]), f"{CANNOT} array {FIELD}.patchType of type v1.PatchType"),
        (answer(warnings="text"), f"{CANNOT} string {FIELD}.warnings of type []string"),
        (answer(warnings=[1]), f"{CANNOT} number {FIELD}.warnings of type string"),
        (answer(auditAnnotations={"a": 1}),
         f"{CANNOT} number {FIELD}.auditAnnotations of type string"),
        (answer(status="no"), f"{CANNOT} string {FIELD}.status of type v1.Status"),
        (answer(status=[]), f"{CANNOT} array {FIELD}.status of type v1.Status"),
        (answer(status={"code": "403"}), f"{CANNOT} string {STATUS}.code of type int32"),
        (answer(status={"code": 4.5}), f"{CANNOT} number 4.5 {STATUS}.code of type int32"),
        (answer(status={"details": {"causes": "x"}}),
         f"{CANNOT} string into Go struct field StatusDetails.response.status.details.causes "
         "of type []v1.StatusCause"),
    ],
)  # fmt: skip
def test_what_is_no_review_is_not_read(body: bytes, why: str) -> None:
    with pytest.raises(UnreadableAnswer) as refused:
        read(body)

    assert str(refused.value) == why


@pytest.mark.parametrize(
    ("body", "found"),
    [
        (b'"kind":"AdmissionReview"', "/, Kind=AdmissionReview"),
        (b'"apiVersion":"admission.k8s.io/v1"', "admission.k8s.io/v1, Kind="),
    ],
)
def test_a_review_that_does_not_say_what_it_is(body: bytes, found: str) -> None:
    response = json.encode({"uid": UID, "allowed": True})
    with pytest.raises(InvalidResponse) as refused:
        read(b"{" + body + b',"response":' + response + b"}")

    wanted = "admission.k8s.io/v1, Kind=AdmissionReview"
    assert str(refused.value) == f"expected webhook response of {wanted}, got {found}"


def test_null_among_warnings_is_an_empty_one_and_unknown_fields_are_dropped() -> None:
    found = read(answer(warnings=[None, "a"], status={"details": {"name": "n", "more": 1}}))

    assert found.warnings == ("", "a")
    assert found.result == {"details": {"name": "n"}, "metadata": {}}


def test_a_review_without_a_response() -> None:
    declared = b'{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1"'
    for body in (b"{}", b"null", b" ", declared + b"}", declared + b',"response":null}'):
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
        ({"message": "no", "code": 999}, ": no", 999, None),
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


def test_a_refusal_is_a_status_that_may_say_it_is_something_else() -> None:
    (webhook,) = read_configuration("c", {"webhooks": [{"name": "a.b.c"}]})

    status = denial(webhook, {"kind": "Other", "apiVersion": "a/v1", "status": "Odd"}).status

    assert (status["kind"], status["apiVersion"], status["status"]) == ("Status", "v1", "Odd")


@pytest.mark.parametrize(
    "patch", [b"{", b"{}", b'"x"', b"[1]", b'[{"op":1}]', b"[" + b"{}," * 10_000 + b"{}]"]
)
def test_a_patch_is_a_list_of_operations(patch: bytes) -> None:
    with pytest.raises(UndecodableOperations):
        read_operations(patch)


def test_a_patch_that_is_no_json_is_refused_in_the_words_of_go() -> None:
    with pytest.raises(UndecodableOperations) as refused:
        read_operations(b"not json")

    assert str(refused.value) == "invalid character 'o' in literal null (expecting 'u')"


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
